"""Where staged files lie: a folder for each grading process, taken away even after a kill."""

from __future__ import annotations

import contextlib
import os
import shutil
import stat
import tempfile
from pathlib import Path

from grader.processes.locks import lock

PREFIX = "grader-"
LOCK = ".in-use"


class Staging:
    """A folder below the system's temporary one that only this process and its own fill.

    A lock says that it is in use, and the kernel lets go of it with the last process that holds
    ``descriptor``: what a killed process left behind is taken away by the next one to start.
    """

    def __init__(self) -> None:
        _sweep()
        self.path, self.descriptor = _claim()

    def close(self) -> None:
        """Take the folder away; what a dying process still holds there is left to the next."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self.descriptor)
        # Windows takes no open file away.
        shutil.rmtree(self.path, ignore_errors=True)


def _claim() -> tuple[Path, int]:
    """A new folder, and the descriptor that locks it."""
    while True:
        path = Path(tempfile.mkdtemp(prefix=PREFIX))
        file = path / LOCK
        descriptor = os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
        # Until it is locked it looks like nobody's.
        with contextlib.suppress(BlockingIOError):
            lock(descriptor)
            if file.exists():
                path.chmod(0o755)  # a worker may be somebody else
                return path, descriptor
        os.close(descriptor)


def _sweep() -> None:
    """Take away folders of ours that no process is left of.

    A folder is ours by its name, its owner and its lock; without a lock that can be had it stays.
    """
    for path in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        with contextlib.suppress(OSError):
            status = path.lstat()
            mine = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
            if stat.S_ISDIR(status.st_mode) and mine:
                _remove_if_free(path)


def _remove_if_free(path: Path) -> None:
    descriptor = os.open(path / LOCK, os.O_RDWR | getattr(os, "O_NOFOLLOW", 0))
    try:
        lock(descriptor)
        shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(descriptor)
