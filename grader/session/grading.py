"""Grading one submission: the suites collected and run, the report made."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Iterator, Sequence

from grader.course.model import Assignment, CourseError
from grader.course.submission import NotGradable
from grader.jobs.protocol import Job
from grader.processes import huge_pages
from grader.report.model import Report
from grader.session.checks.collecting import collected
from grader.session.contexts import job_assignment, job_context
from grader.session.run import Common, Grading, OnProgress
from grader.workers.starting import Workers


def grade(job: Job, server: Workers, on_progress: OnProgress = lambda _: None) -> Report:
    """Grade ``job`` with workers of ``server``; every worker is dead when this returns.

    The report is an instructor's. Raises CourseError for a broken course, GraderFault or
    SandboxError where the grader itself failed.
    """
    with prepared(job) as suites:
        return suites.grade(job, server, on_progress)


class Prepared:
    """Suites that are collected: they grade any number of jobs for their assignment."""

    def __init__(
        self, common: Common, earlier: Sequence[Assignment], later: Sequence[Assignment]
    ) -> None:
        self._common = common
        self._earlier = earlier
        self._later = later

    def work_ahead(self) -> None:
        """Do what every job would do for itself, so that forks of this process share it."""
        common = self._common
        if common.suites.hidden is not None:
            with contextlib.suppress(CourseError):  # which is said to whoever it is in the way of
                common.faults.observe_singles()
            for export in common.assignment.exports:
                common.workings.specimens(export)
        gc.collect()
        gc.freeze()
        huge_pages.collapse()

    def grade(self, job: Job, server: Workers, on_progress: OnProgress) -> Report:
        """Grade a job for this assignment, with these suites; raises as :func:`grade`."""
        with contextlib.ExitStack() as staging:
            try:
                context = job_context(
                    job, self._common.assignment, self._earlier, self._later, server, staging
                )
            except NotGradable as problem:
                return Grading(self._common, job, None, on_progress, message=str(problem)).report()
            try:
                grading = Grading(self._common, job, context, on_progress)
                grading.run_all()
                return grading.report()
            finally:
                context.discard()
                # A report is handed over when no worker is left that could still do anything.
                server.kill_all()


@contextlib.contextmanager
def prepared(like: Job) -> Iterator[Prepared]:
    """The suites for jobs ``like`` this one; raises CourseError, and GraderFault for suites."""
    assignment, earlier, later = job_assignment(like)
    with collected(assignment, public_only=like.public_only) as suites:
        yield Prepared(Common(assignment, suites), earlier, later)
