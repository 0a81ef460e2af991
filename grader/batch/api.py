"""A whole batch, planned and graded: what ``grade batch`` does, as a class."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from grader.batch.bugs import reported
from grader.batch.model import Result, StudentNote, Summary
from grader.batch.plan import Plan, make_plan
from grader.batch.pool import Pool
from grader.batch.reading import GRADES, SUMMARY
from grader.batch.roll import ClassRoll
from grader.batch.running import Runner
from grader.batch.store import Store
from grader.batch.tables import assignment_ids, grades_csv, summarise
from grader.course.model import Course
from grader.jobs.protocol import Options
from grader.report.chaining import mark_open_points
from grader.report.files import encode


class Batch:
    """Submissions at ``paths``, to be graded into the folder ``output``.

    Who is in the folder's class already stays in it, unless it is to be ``only`` these. As a
    context manager it leaves nothing behind but reports, tables and a journal. ``say`` is told
    what is found at the paths, as it is found. Raises BatchError or CourseError where no batch can
    be made of them.
    """

    def __init__(
        self,
        paths: Sequence[Path],
        course: Course,
        output: Path,
        options: Options,
        *,
        assignment: str | None = None,
        pattern: str | None = None,
        layout: str | None = None,
        only: bool = False,
        say: Callable[[str], None] = lambda _: None,
    ) -> None:
        self._course = course
        self._options = options
        self._say = say
        self._only = only
        self.results: list[Result] = []
        """This run's, as they came."""
        self._store = Store(output)
        try:
            self._roll = ClassRoll(self._store)
            self.plan: Plan = make_plan(
                paths,
                course,
                self._store.scratch,
                assignment=assignment,
                pattern=pattern,
                layout=layout,
                known=self._roll.members,
                say=say,
            )
        except BaseException:
            self._store.close()
            raise
        self._runner: Runner | None = None

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, *_: object) -> None:
        self._store.close()

    def stop(self) -> None:
        """Finish the submissions that are being graded, then stop; safe in a signal handler."""
        if self._runner is not None:
            self._runner.stop()

    def run(
        self, pool: Pool, *, regrade: bool = False, on_result: Callable[[Result], None]
    ) -> Summary:
        """Grade the remaining submissions in ``pool``, and always write the tables.

        Raises GradingError or CourseError where nothing can be graded at all.
        """
        started_at, started = datetime.now(UTC), time.monotonic()
        runner = self._runner = Runner(
            self._course, self._store, self._options, pool, regrade=regrade
        )

        others = self._roll.expect(self.plan, only=self._only)

        def keep(result: Result) -> None:
            self.results.append(result)
            on_result(result)

        complete = False
        try:
            complete = runner.run(self.plan.tasks, keep)
            if self._options.chain:
                self._point_out_open_points()
        finally:
            results = self._roll.settle(self.results)
            members = self._roll.members
            summary = summarise(
                self.plan,
                members,
                results,
                self._course,
                started_at=started_at.isoformat(timespec="seconds"),
                seconds=time.monotonic() - started,
                complete=complete,
            )
            named = [
                StudentNote(student=one.person.student, assignment=one.assignment) for one in others
            ]
            summary = msgspec.structs.replace(
                summary,
                replaced=sorted(runner.replaced, key=lambda one: (one.student, one.assignment)),
                only_these=named if self._only else [],
                not_in_input=[] if self._only else named,
            )
            ids = assignment_ids(members, self._course)
            self._store.write(GRADES, grades_csv(members, results, ids))
            self._store.write(SUMMARY, encode(summary))
        return summary

    def _point_out_open_points(self) -> None:
        """Say in each student's reports which failures may come from their earlier files."""
        ids: dict[str, list[str]] = defaultdict(list)
        for task in self.plan.tasks:
            for student in task.students:
                ids[student].append(task.assignment)
        for student, assignments in ids.items():
            found = (self._store.report(student, id) for id in assignments)
            reports = [report for report in found if report is not None]
            try:
                marked = mark_open_points(reports)
            except Exception as error:
                self._say(f"{student}: {reported(error)}")
                continue
            for before, after in zip(reports, marked, strict=True):
                if after != before:
                    self._store.rewrite(student, after)
