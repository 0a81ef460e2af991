"""Grading a plan's tasks in several warm processes, each result kept as it comes."""

from __future__ import annotations

import os
import queue
import secrets
import threading
from collections.abc import Callable, Sequence

from grader.batch.model import Misconception, Result
from grader.batch.plan import Task
from grader.batch.store import Keys, Options, Store
from grader.course.model import Course
from grader.report.model import Report, Status
from grader.session.client import GradingError, GradingProcess
from grader.session.targets import Target

MOST_ATTEMPTS = 3
"""A submission that has ended so many grading processes is not tried again."""
SPARE_SECONDS = 180.0
"""What a grading process may be silent for, beyond what its limits allow the student's code."""


def default_jobs() -> int:
    """One process for each core that this one may use."""
    return len(os.sched_getaffinity(0))


class Runner:
    """Grades tasks; ``stop`` may be called at any time, from a signal handler too."""

    def __init__(
        self, course: Course, store: Store, options: Options, *, jobs: int, regrade: bool = False
    ) -> None:
        self._course = course
        self._store = store
        self._options = options
        self._jobs = jobs
        self._regrade = regrade
        self._keys = Keys(course, options)
        self._saving = threading.Lock()
        self._waiting: queue.SimpleQueue[Task] = queue.SimpleQueue()
        self._done: queue.SimpleQueue[Result | BaseException | None] = queue.SimpleQueue()
        self._stopping = False

    def stop(self) -> None:
        """Begin no further task; those that are being graded are finished."""
        self._stopping = True

    def run(self, tasks: Sequence[Task], on_result: Callable[[Result], None]) -> bool:
        """Grade ``tasks``, calling back in this thread; whether that was all of them.

        Raises GradingError or CourseError for what no other task would be spared, once those that
        were being graded are finished.
        """
        for task in tasks:
            self._waiting.put(task)
        threads = [
            threading.Thread(target=self._work, daemon=True)
            for _ in range(min(self._jobs, len(tasks)))
        ]
        for thread in threads:
            thread.start()
        left, finished = len(threads), 0
        failure: BaseException | None = None
        while left:
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
        process = _Restarted(isolate=self._options.isolate)
        try:
            while not self._stopping:
                try:
                    task = self._waiting.get_nowait()
                except queue.Empty:
                    return
                self._done.put(self._result(task, process))
        except BaseException as error:
            self._done.put(error)
        finally:
            process.close()
            self._done.put(None)

    def _result(self, task: Task, process: _Restarted) -> Result:
        key = self._keys.of(task)
        report = None if self._regrade else self._store.kept(task, key)
        if report is not None:
            return result_of(task, report, kept=True)
        seed = self._options.seed
        limits = self._course.assignments[task.assignment].limits
        job = Target(
            submission=task.submission,
            assignment=task.assignment,
            course=self._course.root,
            course_title=self._course.title,
        ).job(
            seed=secrets.randbits(53) if seed is None else seed,
            check_seconds=self._options.check_seconds,
            public_only=self._options.public_only,
            sandbox=self._options.sandbox,
            chain=self._options.chain,
        )
        message = ""
        for attempt in range(1, MOST_ATTEMPTS + 1):
            try:
                report = process.running().grade(
                    job, most_silent=limits.submission_seconds + SPARE_SECONDS
                )
            except GradingError as error:
                if error.wrong_course or error.for_every_job:
                    raise
                process.close()
                message = str(error)
                continue
            with self._saving:
                self._store.save(task, key, report)
            return result_of(task, report, attempts=attempt)
        with self._saving:
            self._store.forget(task)
        return Result(
            students=task.students,
            assignment=task.assignment,
            status="grading-failed",
            message=f"{MOST_ATTEMPTS} grading processes failed at it, the last so: {message}",
            attempts=MOST_ATTEMPTS,
        )


class _Restarted:
    """A grading process that is started when it is needed, and again after it was closed."""

    def __init__(self, *, isolate: bool) -> None:
        self._isolate = isolate
        self._process: GradingProcess | None = None

    def running(self) -> GradingProcess:
        if self._process is None:
            self._process = GradingProcess(isolate=self._isolate)
        return self._process

    def close(self) -> None:
        if self._process is not None:
            self._process.close()
            self._process = None


def result_of(task: Task, report: Report, *, kept: bool = False, attempts: int = 1) -> Result:
    """What a report says, in short."""
    statuses = {check.status for check in report.checks}
    return Result(
        students=task.students,
        assignment=task.assignment,
        title=report.assignment.title,
        status=report.status,
        earned=report.score.earned,
        possible=report.score.possible,
        message=report.message,
        misconceptions=[
            Misconception(faults=one.faults, message=one.message) for one in report.diagnosis
        ],
        crashed=Status.CRASHED in statuses,
        timed_out=Status.TIMEOUT in statuses,
        duration_s=report.duration_s,
        kept=kept,
        attempts=attempts,
    )
