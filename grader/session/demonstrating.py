"""Runs a submission on the examples of its handout, and on nothing else."""

from __future__ import annotations

import contextlib
from typing import Any

from grader.course.submission import NotGradable
from grader.execution import loading
from grader.jobs.protocol import Demonstrated, Demonstration, Job
from grader.session.checks.context import CheckContext
from grader.session.checks.evidence import Run, demonstrations, expected_results, plain_numbers
from grader.session.checks.outcomes import outcome_of
from grader.session.contexts import job_assignment, job_context
from grader.wire.errors import WorkerLost
from grader.workers.starting import Workers

DIGITS = 8


def demonstrate(job: Job, server: Workers) -> Demonstrated:
    """Run the demonstrations of the public suite; every worker is dead when this returns.

    Raises CourseError for a broken course, GraderFault or SandboxError where the grader failed.
    """
    assignment, earlier, later = job_assignment(job)
    suite = loading.load(str(assignment.public_suite), "grader_demonstrations")
    found = demonstrations(suite)
    with contextlib.ExitStack() as staging:
        try:
            context = job_context(job, assignment, earlier, later, server, staging)
        except NotGradable as problem:
            return Demonstrated(message=str(problem))
        context.constants.keep(suite)
        try:
            return Demonstrated(
                demonstrations=[
                    _demonstration(context, declared.title, run) for declared, run in found.items()
                ]
            )
        finally:
            context.discard()
            server.kill_all()


def _demonstration(context: CheckContext, title: str, run: Run) -> Demonstration:
    shown = Demonstration(title=title)
    if context.assignment.reference is not None:
        shown.expected = _plain(expected_results(context, run))
    try:
        context.begin(title)
        with context.inputs_closed():
            shown.yours = _plain(run(context.student))
    except Exception as error:
        outcome = outcome_of(error, context.submission)
        shown.message = " ".join(part for part in (outcome.message, outcome.detail) if part)
        if isinstance(error, WorkerLost):
            context.discard()
    context.constants.restore()
    return shown


def _plain(results: dict[str, Any]) -> dict[str, Any]:
    return {name: plain_numbers(tensor, DIGITS) for name, tensor in results.items()}
