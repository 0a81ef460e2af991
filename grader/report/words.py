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
