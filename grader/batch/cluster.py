"""Grading on the workers of a Dask cluster, which need the grader and nothing else.

Whoever reaches a Dask scheduler can run code on its workers: it belongs into a network of its own,
or behind TLS (``tls://``, set up as Dask's documentation says).
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import time
import uuid
from pathlib import Path

import dask.config
import dask.utils
import msgspec
from distributed import CancelledError, Client, Future, KilledWorker

import grader
from grader.batch import worker
from grader.batch.errors import BatchError
from grader.batch.pool import GraderLost
from grader.batch.shipping import digest_of, pack_course
from grader.course.model import Course
from grader.course.submission import pack
from grader.course.tree import shown
from grader.jobs.client import GradingError
from grader.jobs.protocol import CannotGrade, Job
from grader.report.files import decode
from grader.report.model import Report

LOOK_SECONDS = 5.0

_ADDRESS = re.compile(r"(?:[a-z]+://)?[^\s/]+:\d{1,5}")


class ClusterPool:
    """A grader for each worker of the scheduler at ``address``, but at most ``jobs``.

    As a context manager it is disconnected on exit. How long it waits for the scheduler, for a
    first worker, and for another where the last has gone, is Dask's own setting
    (``distributed.comm.timeouts.connect``, 30 s). Raises BatchError for an address that is none,
    GradingError where no scheduler answers or no worker comes.
    """

    def __init__(
        self,
        address: str,
        course: Course,
        jobs: int | None = None,
        *,
        isolate: bool = False,
    ) -> None:
        if not _ADDRESS.fullmatch(address):
            raise BatchError(f"--scheduler {address}: expected tcp://HOST:PORT or tls://HOST:PORT")
        self.address = address
        self.course = course
        self.isolate = isolate
        self.archive = pack_course(course)
        self.digest = digest_of(self.archive)
        self._jobs = jobs
        for name in ("distributed", "distributed.client"):
            # What there is to say of lost connections is said here.
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._patience = dask.utils.parse_timedelta(
            dask.config.get("distributed.comm.timeouts.connect")
        )
        try:
            self.client = Client(address, set_as_default=False)
        except (OSError, TimeoutError):
            raise GradingError(f"no Dask scheduler answers at {address}") from None
        except ValueError as error:
            raise BatchError(f"--scheduler {address}: {error}") from None
        self._workers = 0
        self._last_seen = time.monotonic()
        try:
            self.client.wait_for_workers(1, timeout=self._patience)
        except TimeoutError:
            self._close()
            raise GradingError(
                f"the Dask scheduler at {address} has no workers: start one for each core, with "
                f"`dask worker {address} --nworkers auto --nthreads 1`"
            ) from None

    def size(self) -> int:
        with contextlib.suppress(Exception):  # a connection that is lost is seen by the graders
            self.look()
        here = max(1, self._workers)
        return min(here, self._jobs or here)

    def new_grader(self) -> ClusterGrader:
        return ClusterGrader(self)

    def look(self) -> None:
        """Count the workers; raises GradingError if there have been none for too long."""
        self._workers = len(self.client.nthreads())
        if self._workers:
            self._last_seen = time.monotonic()
        elif time.monotonic() > self._last_seen + self._patience:
            raise GradingError(f"the Dask scheduler at {self.address} has no workers left")

    def _close(self) -> None:
        with contextlib.suppress(Exception):
            self.client.close(timeout=5)

    def __enter__(self) -> ClusterPool:
        return self

    def __exit__(self, *_: object) -> None:
        self._close()


class ClusterGrader:
    """Grades one submission at a time on any free worker."""

    def __init__(self, pool: ClusterPool) -> None:
        self._pool = pool

    def grade(self, job: Job, *, submission_seconds: float, tries: int) -> Report:
        """Grade a job; raises as :class:`grader.batch.pool.Grader` says."""
        request = worker.Request(
            job=msgspec.structs.replace(job, submission=b"", course=b""),
            submission=self._pack(job),
            course=self._pool.digest,
            submission_seconds=submission_seconds,
            tries=tries,
            isolate=self._pool.isolate,
            grader=grader.__version__,
        )
        while True:
            match self._ask(request):
                case worker.CourseMissing():
                    request.archive = self._pool.archive
                case worker.Failed() as failed:
                    raise GraderLost(failed.message, failed.times)
                case CannotGrade() as fault:
                    raise GradingError(
                        fault.message,
                        wrong_course=fault.wrong_course,
                        for_every_job=fault.for_every_job,
                    )
                case worker.Done() as done:
                    return _report(done, job)

    def close(self) -> None:
        """Nothing is held."""

    def _pack(self, job: Job) -> bytes:
        assignment = self._pool.course.assignments[job.assignment]
        earlier, later = self._pool.course.around(assignment)
        path = Path(os.fsdecode(job.submission))
        if job.packed:
            return path.read_bytes()
        return pack(path, assignment, earlier=earlier, later=later, chain=job.chain)

    def _ask(self, request: worker.Request) -> worker.Answer:
        client = self._pool.client
        key = f"grade-{uuid.uuid4().hex}"
        try:
            future = client.submit(worker.grade, msgspec.msgpack.encode(request), key=key)
            return worker.answers.decode(self._result(future))
        except KilledWorker:
            # Dask gives up by a count of its own, which others' deaths on the same worker are in.
            begun = int(client.get_metadata([key], 0))
            return worker.Failed(message=worker.DIED, times=max(1, begun))
        except ModuleNotFoundError as error:
            raise GradingError(
                f"a worker of {self._pool.address} lacks the package {error.name}: install "
                f"attention-grader[cluster]=={grader.__version__} there"
            ) from None
        except (CancelledError, OSError):
            raise GradingError(
                f"the Dask scheduler at {self._pool.address} is lost; finished reports are kept"
            ) from None

    def _result(self, future: Future[bytes]) -> bytes:
        while True:
            try:
                return future.result(timeout=LOOK_SECONDS)
            except TimeoutError:
                self._pool.look()


def _report(done: worker.Done, job: Job) -> Report:
    report = decode(done.report)
    assert isinstance(report, Report)
    if report.status != "not-gradable":
        return report
    # Of what could not be read the report has only the name, which there is another one.
    named = msgspec.structs.replace(
        report.submission, id=shown(Path(os.fsdecode(job.submission)).name)
    )
    return msgspec.structs.replace(report, submission=named)
