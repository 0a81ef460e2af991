"""What can go wrong with a batch as a whole."""

from __future__ import annotations


class BatchError(Exception):
    """The input cannot be graded as a batch; the text says what was seen and what to do."""
