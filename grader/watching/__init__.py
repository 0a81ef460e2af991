"""Grading whenever something is saved: what changed, and the newest verdict on it."""
