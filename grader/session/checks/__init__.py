"""Checks: declaring, collecting, running and scoring them."""
