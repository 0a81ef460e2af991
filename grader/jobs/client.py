"""Starting the grading process and giving it jobs. Never imports torch."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import tempfile
import threading
from collections.abc import Callable, Iterator
from types import TracebackType

import msgspec

from grader.jobs.protocol import CannotGrade, Demonstrated, Event, Graded, Job, Progress
from grader.processes import launching
from grader.processes.environment import forks
from grader.processes.staging import Staging
from grader.report.model import Report
from grader.wire import frames
from grader.wire.errors import ProtocolError, SandboxError

_events: msgspec.msgpack.Decoder[Event] = msgspec.msgpack.Decoder(Event)

MODULE = "grader.gradingprocess"
CONNECT_SECONDS = 60.0


class GradingError(Exception):
    """The grader could not do its work.

    ``wrong_course`` says whether the course is to blame, ``for_every_job`` whether any other job
    would have met the same.
    """

    def __init__(
        self, message: str, *, wrong_course: bool = False, for_every_job: bool = False
    ) -> None:
        super().__init__(message)
        self.wrong_course = wrong_course
        self.for_every_job = for_every_job


class GradingProcess:
    """A warm process that grades one job after another.

    As a context manager it is ended on exit. It takes about as long to start as torch to import.
    An answer has no mark of its job: so a second job at the same time is refused, and so is any
    job after one whose answer was not read to its end, and one from a fork of this process.
    """

    def __init__(self, *, isolate: bool = False) -> None:
        """With ``isolate`` submissions do not even see what files exist, or nothing is graded."""
        self._owner = os.getpid()
        self._at_work = threading.Lock()
        self._unread = False
        self._staging = Staging()
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115
        arguments = [str(self._staging.path), *(["isolate"] if isolate else [])]
        start = self._start if forks() else self._spawn
        self._process, self._socket = start(arguments)

    def _start(self, arguments: list[str]) -> tuple[subprocess.Popen[bytes], socket.socket]:
        return launching.start_connected(
            MODULE,
            [str(os.getpid()), *arguments],
            pass_fds=[self._staging.descriptor],
            stdout=subprocess.DEVNULL,
            stderr=self._errors,
        )

    def _spawn(self, arguments: list[str]) -> tuple[subprocess.Popen[bytes], socket.socket]:
        spawned = launching.SpawnedProcess(
            MODULE, ["spawned", *arguments], stdout=subprocess.DEVNULL, stderr=self._errors
        )
        try:
            return spawned.process, spawned.connect(CONNECT_SECONDS)
        except SandboxError:
            words = self._last_words()
            self._staging.close()
            self._errors.close()
            raise GradingError(f"the grading process could not be started.{words}") from None

    def grade(
        self,
        job: Job,
        on_progress: Callable[[Progress], None] = lambda _: None,
        *,
        most_silent: float | None = None,
    ) -> Report:
        """Grade one job; the report is an instructor's.

        Raises GradingError, also after ``most_silent`` seconds without any word. A process whose
        answer was not waited for is of no more use.
        """
        blob = self._answer(job, on_progress, most_silent)
        return msgspec.json.decode(blob, type=Report)

    def demonstrate(self, job: Job) -> Demonstrated:
        """What the job's submission makes of the handout's examples; raises GradingError."""
        blob = self._answer(msgspec.structs.replace(job, demonstrations_only=True))
        return msgspec.json.decode(blob, type=Demonstrated)

    def _answer(
        self,
        job: Job,
        on_progress: Callable[[Progress], None] = lambda _: None,
        most_silent: float | None = None,
    ) -> bytes | bytearray:
        with self._alone():
            self._socket.settimeout(most_silent)
            try:
                event, blob = self._exchange(job, on_progress)
            except TimeoutError:
                raise GradingError(f"it sent nothing for {most_silent:g} s") from None
            except (EOFError, OSError, ProtocolError):
                raise GradingError(f"the grading process ended.{self._last_words()}") from None
        if isinstance(event, CannotGrade):
            raise GradingError(
                event.message, wrong_course=event.wrong_course, for_every_job=event.for_every_job
            )
        return blob

    @contextlib.contextmanager
    def _alone(self) -> Iterator[None]:
        """Keep others out until the answer of one job is read; raises GradingError."""
        if os.getpid() != self._owner:
            raise GradingError("a grading process cannot be used by a fork of who started it")
        if not self._at_work.acquire(blocking=False):
            raise GradingError("the grading process is busy with another job")
        try:
            if self._unread:
                raise GradingError("an answer is under way that nobody waited for")
            yield
        finally:
            self._at_work.release()

    def _exchange(
        self, job: Job, on_progress: Callable[[Progress], None]
    ) -> tuple[Graded | CannotGrade, bytes | bytearray]:
        """Send a job and read up to its answer; whatever is raised leaves that unread."""
        self._unread = True
        frames.send(self._socket, job)
        while True:
            event, blob = frames.receive(self._socket, _events)
            if not isinstance(event, Progress):
                self._unread = False
                return event, blob
            on_progress(event)

    def kill(self) -> None:
        """End the process, from any thread; whoever waits for a report gets a GradingError."""
        self._process.kill()

    def close(self) -> None:
        """End the process; whatever it was doing is lost. A fork of its owner just lets go."""
        self._socket.close()
        if os.getpid() != self._owner:
            self._process.returncode = 0  # not ours to wait for
            os.close(self._staging.descriptor)
            self._errors.close()
            return
        launching.end(self._process)
        self._staging.close()
        self._errors.close()

    def __enter__(self) -> GradingProcess:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _last_words(self) -> str:
        text = launching.last_words(self._errors)
        return f" It said:\n{text}" if text else ""
