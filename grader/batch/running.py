"""Grading a plan's tasks with every grader of a pool; each result is kept as it comes."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Sequence

import msgspec

from grader.batch.bugs import is_of_machine, reported
from grader.batch.errors import BatchError
from grader.batch.lateness import with_lateness
from grader.batch.model import Misconception, Result, StudentNote
from grader.batch.plan import Task
from grader.batch.pool import Grader, GraderLost, Pool
from grader.batch.store import Keys, Store, read_report
from grader.course.model import Course, CourseError
from grader.jobs.client import GradingError
from grader.jobs.protocol import Job, Options
from grader.jobs.targets import Target
from grader.report.changes import why_not_run
from grader.report.model import Report, Status
from grader.report.words import grade, has_score

MOST_ATTEMPTS = 3
"""A submission that has ended so many grading processes is not tried again."""


class Runner:
    """Grades tasks; ``stop`` may be called at any time, from a signal handler too."""

    def __init__(
        self, course: Course, store: Store, options: Options, pool: Pool, *, regrade: bool = False
    ) -> None:
        self._course = course
        self._store = store
        self._options = options
        self._pool = pool
        self._regrade = regrade
        self._keys = Keys(course, options)
        self._saving = threading.Lock()
        self._waiting: queue.SimpleQueue[Task] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[Result | BaseException | None] = queue.SimpleQueue()
        self._stopping = False
        self.replaced: list[StudentNote] = []
        """Whose earlier reports said something else, what they said, and where they are kept."""

    def stop(self) -> None:
        """Start no further task; finish those that are being graded."""
        self._stopping = True

    def run(self, tasks: Sequence[Task], on_result: Callable[[Result], None]) -> bool:
        """Grade ``tasks``, calling back in this thread; whether that was all of them.

        Raises GradingError or CourseError for what no other task would be spared, once those that
        were being graded are finished.
        """
        for task in tasks:
            self._waiting.put(task)
        threads: list[threading.Thread] = []
        left, finished = 0, 0
        failure: BaseException | None = None
        while True:
            # Of a cluster there may be more than a moment ago.
            while not self._stopping and len(threads) < min(self._pool.size(), len(tasks)):
                threads.append(threading.Thread(target=self._work, daemon=True))
                threads[-1].start()
                left += 1
            if not left:
                break
            event = self._done.get()
            if event is None:
                left -= 1
            elif isinstance(event, BaseException):
                failure = failure or event
                self.stop()
            else:
                finished += 1
                on_result(event)
        for thread in threads:
            thread.join()
        if failure is not None:
            raise failure
        return finished == len(tasks)

    def _work(self) -> None:
        grader = self._pool.new_grader()
        try:
            while not self._stopping:
                try:
                    task = self._waiting.get_nowait()
                except queue.Empty:
                    return
                self._done.put(self._result_or_bug(task, grader))
        except BaseException as error:
            self._done.put(error)
        finally:
            grader.close()
            self._done.put(None)

    def _result_or_bug(self, task: Task, grader: Grader) -> Result:
        """What became of a task; whatever is raised over this one alone is this one's."""
        if task.bug:
            return self._failed(task, task.bug, is_bug=True)
        try:
            return self._result(task, grader)
        except (BatchError, CourseError, GradingError):
            raise
        except Exception as error:
            if is_of_machine(error):
                raise
            grader.close()  # it may wait for the rest of what it was asked
            return self._failed(task, reported(error), is_bug=True)

    def _failed(
        self, task: Task, message: str, *, attempts: int = 1, is_bug: bool = False
    ) -> Result:
        with self._saving:
            self._set_aside(task, None)
            for student in task.students:
                self._store.remove(student, task.assignment)
        return Result(
            students=task.students,
            assignment=task.assignment,
            status="grading-failed",
            message=message,
            is_bug=is_bug,
            attempts=attempts,
        )

    def _result(self, task: Task, grader: Grader) -> Result:
        key = self._keys.of(task)
        report = None if self._regrade else self._store.kept(task, key)
        if report is not None:
            report = self._judged(task, key, report)
            return result_of(task.students, task.assignment, report, kept=True)
        job, limits = self._job(task, key), self._course.assignments[task.assignment].limits
        failures, message = 0, ""
        while failures < MOST_ATTEMPTS:
            try:
                report = grader.grade(
                    job,
                    submission_seconds=limits.submission_seconds,
                    tries=MOST_ATTEMPTS - failures,
                )
            except GraderLost as lost:
                failures += lost.times
                message = str(lost)
                continue
            report = self._judged(task, key, report, new=True)
            return result_of(task.students, task.assignment, report, attempts=failures + 1)
        message = f"{failures} grading processes failed on it, the last with: {message}"
        return self._failed(task, message, attempts=failures)

    def _judged(self, task: Task, key: str, report: Report, *, new: bool = False) -> Report:
        """The report with whose it is and what being late costs, saved if that is new."""
        whose = msgspec.structs.replace(report.submission, people=task.people)
        found = with_lateness(task, msgspec.structs.replace(report, submission=whose), self._course)
        if new or found != report:
            with self._saving:
                if new:
                    self._set_aside(task, found)
                self._store.save(task, key, found)
        return found

    def _set_aside(self, task: Task, new: Report | None) -> None:
        """Keep the reports in whose place ``new`` comes, unless they say the same."""
        for student in task.students:
            before = read_report(self._store.path(student, task.assignment))
            if before is None or (new is not None and _in_short(before) == _in_short(new)):
                continue
            name = self._store.set_aside(student, task.assignment)
            message = f"{grade(before)} before, kept as {name}"
            self.replaced.append(
                StudentNote(student=student, assignment=task.assignment, message=message)
            )

    def _job(self, task: Task, key: str) -> Job:
        job = Target(
            submission=task.submission,
            assignment=task.assignment,
            course=self._course.root,
            course_title=self._course.title,
        ).job(self._options)
        if task.refused:
            job.submission = os.fsencode(self._store.refusal(task, key))
            job.packed = True
        return job


def _in_short(report: Report) -> tuple[object, ...]:
    return report.status, report.final, report.submission.digest


def result_of(
    students: list[str], assignment: str, report: Report, *, kept: bool = False, attempts: int = 1
) -> Result:
    """What a report says, in short."""
    statuses = {check.status for check in report.checks}
    return Result(
        students=students,
        assignment=assignment,
        title=report.assignment.title,
        status=report.status,
        earned=report.final.earned if has_score(report) else None,
        possible=report.final.possible,
        days_late=report.lateness.days if report.lateness else 0,
        penalty=report.lateness.penalty if report.lateness else 0,
        message=report.message,
        misconceptions=[
            Misconception(faults=one.faults, message=one.message) for one in report.diagnosis
        ],
        crashed=Status.CRASHED in statuses,
        timed_out=Status.TIMEOUT in statuses,
        does_not_run=why_not_run(report),
        digest=report.submission.digest,
        duration_s=report.duration_s,
        kept=kept,
        attempts=attempts,
    )
