"""A lock on a file, which the system lets go of when its last holder ends."""

from __future__ import annotations

import errno


def lock(descriptor: int) -> None:
    """Lock an open file; raises BlockingIOError if it is locked already."""
    try:
        import fcntl
    except ImportError:  # Windows
        import msvcrt

        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        except OSError as error:
            raise BlockingIOError(errno.EAGAIN, "it is locked") from error
    else:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
