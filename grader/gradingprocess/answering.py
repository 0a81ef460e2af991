"""What a process that grades says on the way and at the end."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

import msgspec

from grader.course.model import CourseError
from grader.jobs.protocol import CannotGrade, Demonstrated, Event, Graded, Progress
from grader.report.model import Report
from grader.session.errors import SuiteFault
from grader.wire import frames
from grader.wire.errors import SandboxMissing

SECONDS_BETWEEN_STEPS = 0.05


def progress_to(sock: socket.socket) -> Callable[[Progress], None]:
    """Sends steps to the command line, as many as can be seen to pass, and the last."""
    last = 0.0

    def send(progress: Progress) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= SECONDS_BETWEEN_STEPS or progress.done == progress.total:
            last = now
            frames.send(sock, progress)

    return send


def answer(sock: socket.socket, work: Callable[[], Report | Demonstrated]) -> None:
    """Send what ``work`` makes, or else what kept it from making anything."""
    event, blob = _outcome(work)
    frames.send(sock, event, blob)


def _outcome(work: Callable[[], Report | Demonstrated]) -> tuple[Event, bytes]:
    try:
        return Graded(), msgspec.json.encode(work())
    except CourseError as error:
        return CannotGrade(message=str(error), wrong_course=True), b""
    except (SandboxMissing, SuiteFault) as error:
        return CannotGrade(message=str(error), for_every_job=True), b""
    except Exception as error:
        return CannotGrade(message=f"{type(error).__name__}: {error}"), b""
