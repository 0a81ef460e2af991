"""What can go wrong with a batch as a whole."""

from __future__ import annotations


class BatchError(Exception):
    """A batch cannot be made of what was given; the text says what was seen and what to do."""
