"""Gradings within a run of pytest's own, in which any suites may lie: one for each assignment."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from grader.course.loading import PUBLIC_SUITE, course_assignment, find_course, load_course
from grader.course.model import Course
from grader.jobs.protocol import Job
from grader.processes.staging import Staging
from grader.report.formats import pytest_json_report
from grader.report.model import CourseReport, Report, joined
from grader.session.checks.cases import Case, Run, run_case
from grader.session.checks.collecting import Suites
from grader.session.checks.context import CheckContext, reference_context
from grader.session.checks.outcomes import as_property
from grader.session.contexts import job_context
from grader.session.run import Common, Grading
from grader.workers.starting import Workers, start_workers

_Key: TypeAlias = tuple[Path, str, Path | None]


class PlainGradings:
    """Whatever the suites of a run grade, each assignment's in a context of its own.

    The student is the given submission; without one it is the file beside a public suite, and the
    reference for a hidden one.
    """

    def __init__(self, submission: Path | None, seed: int, *, reports: bool) -> None:
        """``reports`` says whether :meth:`report` is going to be called."""
        self._reports = reports
        self._submission = submission
        self._seed = seed
        self._courses: dict[Path, Course] = {}
        self._contexts: dict[_Key, CheckContext] = {}
        self._gradings: dict[_Key, Grading] = {}
        self._cases: dict[str, Case] = {}
        self._names: dict[str, str] = {}
        self._open = contextlib.ExitStack()
        self._workers: Workers | None = None
        self._report: Report | CourseReport | None = None

    def expect(self, items: Iterable[pytest.Function]) -> None:
        """Say which checks are going to be run; raises CourseError, NotGradable, UsageError."""
        by_key: dict[_Key, list[pytest.Function]] = {}
        for item in items:
            by_key.setdefault(self._key(item.path), []).append(item)
        for key, those in by_key.items():
            course, name, path = key
            assignment = course_assignment(self._courses[course], name)
            suites = Suites(assignment, those)
            self._cases |= {case.id: case for case in suites.cases}
            self._names |= {
                case.id: pytest_json_report.check_name(name, case.check_id) for case in suites.cases
            }
            if path is not None:
                job = self._job(key, public_only=suites.hidden is None)
                context = self._context(key)
                self._gradings[key] = Grading(
                    Common(assignment, suites), job, context, diagnoses=self._reports
                )

    def run(self, item: pytest.Function, run: Run) -> dict[str, Any]:
        """Run one check by ``run``; what became of it, as plain data."""
        case, key = self._cases[item.nodeid], self._key(item.path)
        if key in self._gradings:
            return as_property(self._gradings[key].run(case, run))
        return as_property(run_case(case, self._context(key), run))

    def context_for(self, suite: Path) -> CheckContext:
        """The context for a suite file; raises CourseError or NotGradable."""
        return self._context(self._key(suite))

    def report(self) -> None:
        """Find out what there is to say of the checks that have been run."""
        reports = [grading.report() for grading in self._gradings.values()]
        if reports:
            course = next(iter(self._courses.values()))
            self._report = joined(course.title, reports).for_student()

    def add_to(self, document: dict[str, Any]) -> None:
        """Put points, messages and diagnosis into a document of pytest-json-report."""
        if self._report is not None:
            pytest_json_report.add_to(document, self._report, self._names)

    def close(self) -> None:
        """End every worker."""
        self._open.close()

    def _key(self, suite: Path) -> _Key:
        """Which course and assignment a suite is of, and the path of what it grades, if any."""
        root = find_course(suite)
        if root not in self._courses:
            self._courses[root] = load_course(root)
        public = suite.name == PUBLIC_SUITE
        name = suite.parent.name if public else suite.stem.removeprefix("test_")
        assignment = course_assignment(self._courses[root], name)
        return root, name, self._submission or (assignment.stub if public else None)

    def _context(self, key: _Key) -> CheckContext:
        if key not in self._contexts:
            root, name, path = key
            course = self._courses[root]
            assignment = course_assignment(course, name)
            if path is None:
                self._contexts[key] = reference_context(assignment, seed=self._seed)
            else:
                context = job_context(
                    self._job(key),
                    assignment,
                    *course.around(assignment),
                    self._start(),
                    self._open,
                )
                self._contexts[key] = context
                self._open.callback(context.discard)
        return self._contexts[key]

    def _job(self, key: _Key, *, public_only: bool = False) -> Job:
        root, name, path = key
        return Job(
            submission=os.fsencode(path or ""),
            course=os.fsencode(root),
            assignment=name,
            seed=self._seed,
            public_only=public_only,
        )

    def _start(self) -> Workers:
        if self._workers is None:
            staging = Staging()
            self._open.callback(staging.close)
            self._workers = start_workers(staging=staging.path)
            self._open.callback(self._workers.close)
        return self._workers
