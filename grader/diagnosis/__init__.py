"""Faults: known misconceptions as edits of a reference, and how a submission is matched to them."""
