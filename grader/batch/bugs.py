"""Messages for errors that the grader itself raises on one submission."""

from __future__ import annotations

import errno
import traceback
from pathlib import Path

from grader.report import safe

_BUG = "This is a bug in the grader, please report it with this line: "
MOST_SHOWN = 300

_MACHINE = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO),
    *(errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.EAGAIN),
}


def is_of_machine(error: Exception) -> bool:
    """Whether the machine is at fault, by a full disk or the like, and not one submission."""
    return isinstance(error, OSError) and error.errno in _MACHINE


def reported(error: Exception) -> str:
    """A line for the grader's developers, without anything from the submission."""
    words = safe.escape(safe.name(" ".join(str(error).split())))[:MOST_SHOWN]
    frames = traceback.extract_tb(error.__traceback__)
    ours = [frame for frame in frames if "grader" in Path(frame.filename).parts] or frames
    where = ""
    if ours:
        parts = Path(ours[-1].filename).parts
        at = max((at for at, part in enumerate(parts) if part == "grader"), default=len(parts) - 1)
        where = f" ({'/'.join(parts[at:])}, line {ours[-1].lineno})"
    said = f"{type(error).__name__}: {words}" if words else type(error).__name__
    return f"{_BUG}{said}{where}"
