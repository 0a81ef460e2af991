"""What runs on a cluster's worker: requests answered by a warm process that the worker keeps."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from pathlib import Path
from typing import TypeAlias

import msgspec
from distributed import get_client, get_worker

import grader
from grader.batch.local import LocalGrader
from grader.batch.pool import GraderLost
from grader.batch.shipping import unpack_course
from grader.jobs.client import GradingError
from grader.jobs.protocol import CannotGrade, Job
from grader.report.files import encode


class Request(msgspec.Struct, kw_only=True):
    """A job for whoever has neither the submission nor the course."""

    job: Job
    """Its paths lead nowhere."""
    submission: bytes
    """As ``grader.course.submission.pack`` makes it."""
    course: str
    """The digest of the packed course."""
    archive: bytes = b""
    """The course itself, for a worker that has said that it lacks it."""
    submission_seconds: float
    tries: int
    isolate: bool
    """What ``GradingProcess`` is to be started with."""
    grader: str
    """The version of whoever asks."""


class Done(msgspec.Struct, tag=True, tag_field="is", kw_only=True):
    report: bytes


class CourseMissing(msgspec.Struct, tag=True, tag_field="is", kw_only=True):
    """It is to be asked again, with the course."""


class Failed(msgspec.Struct, tag=True, tag_field="is", kw_only=True):
    """What graded it ended so many times."""

    message: str
    times: int


Answer: TypeAlias = Done | CourseMissing | Failed | CannotGrade

requests: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)
answers: msgspec.msgpack.Decoder[Answer] = msgspec.msgpack.Decoder(Answer)

DIED = "the cluster's worker died while grading it"


def grade(request: bytes) -> bytes:
    """Answer a :class:`Request` with an :data:`Answer`, each as msgpack."""
    try:
        asked = requests.decode(request)
        if asked.grader != grader.__version__:
            raise GradingError(
                f"it has version {grader.__version__} of the grader, and {asked.grader} asks. "
                "Install the same everywhere"
            )
        with _graders.lock:
            answer = _graders.answer(asked)
    except (GradingError, OSError, ValueError) as error:
        fault = isinstance(error, GradingError) and error
        answer = CannotGrade(
            message=f"the worker {get_worker().address} cannot grade: {error}",
            wrong_course=fault.wrong_course if fault else False,
            for_every_job=True,
        )
    return msgspec.msgpack.encode(answer)


class _Graders:
    """One submission at a time is graded here, so that no other is lost with it."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._isolate = False
        self._grader = LocalGrader()
        self._course = ""
        self._folder: Path | None = None

    def answer(self, asked: Request) -> Answer:
        if asked.archive and asked.course != self._course:
            self._unpack(asked)
        if asked.course != self._course or self._folder is None:
            return CourseMissing()
        before = self._begin()
        if before >= asked.tries:
            return Failed(message=DIED, times=before)
        submission = self._folder / "submission"
        submission.write_bytes(asked.submission)
        job = msgspec.structs.replace(
            asked.job,
            submission=os.fsencode(submission),
            course=os.fsencode(self._folder / "course"),
            packed=True,
        )
        if self._isolate != asked.isolate:
            self._grader.close()
            self._isolate, self._grader = asked.isolate, LocalGrader(isolate=asked.isolate)
        try:
            report = self._grader.grade(
                job, submission_seconds=asked.submission_seconds, tries=asked.tries
            )
        except GraderLost as lost:
            return Failed(message=str(lost), times=before + lost.times)
        return Done(report=encode(report))

    def _begin(self) -> int:
        """How often other workers had begun with this task, and died; and count this time."""
        worker, client = get_worker(), get_client()
        # Under the task's own name the scheduler forgets it with the task.
        place = [worker.get_current_task()]
        before = int(client.get_metadata(place, 0))
        client.set_metadata(place, before + 1)
        return before

    def _unpack(self, asked: Request) -> None:
        # Dask takes the folder around it away, after a crash when the next worker starts.
        folder = Path(tempfile.mkdtemp(prefix="course-", dir=get_worker().local_directory))
        unpack_course(asked.archive, asked.course, folder / "course")
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)
        self._course, self._folder = asked.course, folder


_graders = _Graders()
