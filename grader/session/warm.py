"""One grading process for everything that an interpreter grades in its life."""

from __future__ import annotations

import atexit

from grader.report.model import Report
from grader.session.client import GradingProcess
from grader.session.protocol import Job

_process: GradingProcess | None = None


def grade(job: Job, *, most_silent: float | None = None) -> Report:
    """Grade ``job`` in a process that stays for the next one; the first call waits for torch.

    The report is an instructor's. Raises GradingError; the next call then has a new process.
    """
    global _process
    if _process is None:
        _process = GradingProcess()
    try:
        return _process.grade(job, most_silent=most_silent)
    except BaseException:
        # Whatever it was, a reply may still be on its way, and would be taken for the next one's.
        close()
        raise


@atexit.register
def close() -> None:
    """End the process, if there is one."""
    global _process
    if _process is not None:
        _process.close()
        _process = None
