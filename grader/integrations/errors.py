"""Why a release could not be made."""

from __future__ import annotations


class ReleaseError(Exception):
    """Nothing was released; the text names the file and what to do about it."""
