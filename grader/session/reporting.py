"""The report that a run of the suites comes to."""

from __future__ import annotations

import os
import platform
from datetime import datetime
from pathlib import Path
from typing import Literal

import torch

import grader
from grader.course.loading import suite_digest
from grader.course.model import Assignment
from grader.course.submission import Submission
from grader.course.tree import shown
from grader.jobs.protocol import Job, SandboxMode
from grader.report.model import (
    AssignmentInfo,
    Audience,
    CheckResult,
    Diagnosis,
    Environment,
    FileInfo,
    Output,
    Report,
    SandboxInfo,
    Score,
    Status,
    SubmissionInfo,
)
from grader.session.checks.context import CheckContext
from grader.wire.commands import Ready


def report_on(
    job: Job,
    diagnosis: list[Diagnosis],
    assignment: Assignment,
    context: CheckContext | None,
    checks: list[CheckResult],
    message: str,
    started_at: datetime,
    duration: float,
) -> Report:
    """The report on a submission; without a context it is not gradable, as ``message`` says."""
    statuses = {check.status for check in checks}
    status: Literal["graded", "not-started", "not-gradable"] = (
        "not-gradable" if context is None else "graded"
    )
    if context is not None and statuses <= {Status.NOT_STARTED, Status.SKIPPED}:
        returns = context.process is not None and "returns" in context.process.stubs.values()
        why = "None is returned, whatever goes in" if returns else "the stub is untouched"
        status, message = "not-started", f"Nothing has been filled in yet: {why}."
    notes = []
    submission = context.submission if context is not None else None
    process = context.process if context is not None else None
    if submission is not None:
        notes += submission.notes
    if process is not None:
        notes += process.notes
    wrong = any(check.status in (Status.FAILED, Status.ERROR) for check in checks)
    if (
        wrong
        and not diagnosis
        and not message
        and assignment.hidden_suite is not None
        and not job.public_only
    ):
        notes.append(
            "No known misconception behaves exactly as your code does, so none is claimed; the "
            "failed checks are ordered by the points that they cost."
        )
    if assignment.hidden_suite is None:
        notes.append("This course has no hidden checks here: only the public ones were run.")
    elif job.public_only:
        notes.append("Only the public checks were run, as asked.")
    text, truncated = process.import_output if process is not None else ("", False)
    return Report(
        assignment=AssignmentInfo(
            id=assignment.id, title=assignment.title, suite_digest=suite_digest(assignment)
        ),
        submission=_submission_info(job, submission),
        status=status,
        audience=Audience.INSTRUCTOR,
        score=Score(
            earned=sum(check.earned for check in checks),
            possible=sum(check.points for check in checks),
        ),
        message=message,
        notes=notes,
        checks=checks,
        diagnosis=diagnosis,
        output=Output(text=text, truncated=truncated),
        sandbox=_sandbox_of(job, context),
        environment=environment(),
        seed=job.seed,
        started_at=started_at.isoformat(timespec="seconds"),
        duration_s=duration,
    )


def _submission_info(job: Job, submission: Submission | None) -> SubmissionInfo:
    if submission is None:
        return SubmissionInfo(id=shown(Path(os.fsdecode(job.submission)).name), digest="")
    files = [submission.main, *submission.helpers]
    return SubmissionInfo(
        id=submission.id,
        digest=submission.digest,
        files=[FileInfo(name=file.name, digest=file.digest) for file in files],
        uses=submission.uses,
    )


def _sandbox_of(job: Job, context: CheckContext | None) -> SandboxInfo:
    """What the first worker said of itself before it had seen any student code."""
    ready = context.process.ready if context is not None and context.process is not None else None
    return sandbox_info(job.sandbox, ready)


def environment() -> Environment:
    """What this process runs on."""
    return Environment(
        grader=grader.__version__,
        python=platform.python_version(),
        torch=str(torch.__version__),
        platform=platform.system(),
    )


def sandbox_info(mode: SandboxMode, ready: Ready | None) -> SandboxInfo:
    """A worker's confinement as a report says it."""
    if ready is None:
        return SandboxInfo(level="none")
    none = mode == "off" or not ready.enforced
    reasons: dict[str, list[str]] = {}
    for gap in ready.gaps:
        reasons.setdefault(gap.why, []).append(gap.guarantee)
    return SandboxInfo(
        level="none" if none else "partial" if ready.missing else "full",
        enforced=ready.enforced,
        not_enforced=[f"{', '.join(names)} ({why})" for why, names in reasons.items()],
    )
