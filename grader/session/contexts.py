"""Finds what a job names: an assignment, and the student's module to grade."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from grader.course.loading import course_assignment, load_course
from grader.course.model import Assignment
from grader.jobs.protocol import Job
from grader.session.checks.context import CheckContext, submission_context
from grader.workers.starting import Workers


def job_assignment(job: Job) -> tuple[Assignment, list[Assignment], list[Assignment]]:
    """The assignment to grade, and those that come before and after it in the course."""
    course = load_course(Path(os.fsdecode(job.course)))
    assignment = course_assignment(course, job.assignment)
    return assignment, *course.around(assignment)


def job_context(
    job: Job,
    assignment: Assignment,
    earlier: Sequence[Assignment],
    later: Sequence[Assignment],
    server: Workers,
    staging: contextlib.ExitStack,
) -> CheckContext:
    """A context for what ``job`` names, staged until ``staging`` is closed; raises NotGradable."""
    directory = staging.enter_context(tempfile.TemporaryDirectory(dir=server.staging))
    Path(directory).chmod(0o755)
    return submission_context(
        Path(os.fsdecode(job.submission)),
        _limited(assignment, job),
        Path(directory, "staged"),
        server,
        seed=job.seed,
        sandbox=job.sandbox,
        earlier=earlier,
        later=later,
        chain=job.chain,
        packed=job.packed,
        beside=None if job.beside is None else Path(job.beside),
    )


def _limited(assignment: Assignment, job: Job) -> Assignment:
    """The assignment, with the limits that the job asks for."""
    if job.check_seconds is None:
        return assignment
    limits = msgspec.structs.replace(assignment.limits, check_seconds=job.check_seconds)
    return msgspec.structs.replace(assignment, limits=limits)
