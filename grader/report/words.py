"""What each status is called, wherever a report is shown to people."""

from __future__ import annotations

from grader.report.model import Status

WORDS = {
    Status.PASSED: "ok",
    Status.FAILED: "FAILED",
    Status.ERROR: "ERROR",
    Status.TIMEOUT: "TIMEOUT",
    Status.CRASHED: "CRASHED",
    Status.NOT_RUN: "NOT RUN",
    Status.NOT_STARTED: "NOT STARTED",
    Status.SKIPPED: "skipped",
}

UNSAID = {
    Status.FAILED: "The result is not the expected one.",
    Status.ERROR: "Your code raised an error.",
    Status.TIMEOUT: "Your code took longer than it may.",
    Status.CRASHED: "The process that ran your code ended before it answered.",
    Status.NOT_RUN: "This check did not get its turn.",
    Status.NOT_STARTED: "This part of the stub is untouched.",
}
"""What to say for a check that comes without a message."""
