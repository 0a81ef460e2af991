"""One grading process for everything that an interpreter grades in its life."""

from __future__ import annotations

import atexit

from grader.course.model import Limits
from grader.report.model import Report
from grader.session.client import GradingProcess
from grader.session.protocol import Job

SPARE_SECONDS = 180.0
"""Beyond what the student's code may take: importing torch, on a machine with much to do."""

_process: GradingProcess | None = None


def grade(job: Job, limits: Limits) -> Report:
    """Grade ``job`` in a process that stays for the next one; the first call waits for torch.

    ``limits`` are the assignment's; a process that says nothing for much longer is given up. The
    report is an instructor's. Raises GradingError; the next call then has a new process.
    """
    global _process
    if _process is None:
        _process = GradingProcess()
    try:
        return _process.grade(job, most_silent=limits.submission_seconds + SPARE_SECONDS)
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
