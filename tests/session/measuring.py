"""Grades in real forks, and says of each what only the fork itself knows: the memory it took.

``python measuring.py`` reads jobs from standard input, a line of JSON each, with ``unlimited`` for
one whose memory may grow. It writes a line for each: the report, the most memory that the session
held, in bytes (``VmHWM``), and the most bytes of a worker's that were left when a check was over.
"""

from __future__ import annotations

import json
import os
import socket
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

import msgspec

from grader.confinement import limits
from grader.gradingprocess import forks, serving
from grader.jobs.protocol import CannotGrade, Event, Graded, Job
from grader.report.model import Report
from grader.session.run import Grading
from grader.wire import frames
from grader.workers.forked import ForkServer

_events: msgspec.msgpack.Decoder[Event] = msgspec.msgpack.Decoder(Event)


def main() -> None:
    staging = Path(tempfile.mkdtemp())
    staging.chmod(0o755)
    server = ForkServer.launch(staging=staging)
    serving._warm_up()
    notes = staging / "notes"
    _tell_on_sessions(notes)
    cap_growth = limits.cap_growth
    for line in sys.stdin:
        asked = json.loads(line)
        unlimited = asked.pop("unlimited")
        limits.cap_growth = (lambda size: None) if unlimited else cap_growth
        event, report = _grade(Job(**asked), server)
        told = {"report": report, "fault": event.message if isinstance(event, CannotGrade) else ""}
        print(json.dumps(told | json.loads(notes.read_text())), flush=True)
    server.close()


def _tell_on_sessions(notes: Path) -> None:
    """Have each fork write down at its end what it took."""
    answer, run = forks.answer_job, Grading.run
    held = [0]

    def and_count(grading: Any, *given: Any) -> Any:
        outcome = run(grading, *given)
        held.append(grading._context.process.budget.held)
        return outcome

    def and_tell(*given: Any) -> None:
        try:
            answer(*given)
        finally:
            notes.write_text(json.dumps({"peak": peak(), "held": max(held)}))

    Grading.run, forks.answer_job = and_count, and_tell


def peak() -> int:
    """The most memory that this process ever held, in bytes."""
    status = Path(f"/proc/{os.getpid()}/status").read_text()
    (line,) = (line for line in status.splitlines() if line.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def _grade(job: Job, server: ForkServer) -> tuple[Event, Any]:
    """The last event of a job, and its report as plain data."""
    ours, theirs = socket.socketpair()
    found: list[tuple[Event, Any]] = []

    def listen() -> None:
        while not found:
            event, blob = frames.receive(ours, _events)
            if isinstance(event, Graded):
                found.append((event, msgspec.to_builtins(msgspec.json.decode(blob, type=Report))))
            elif isinstance(event, CannotGrade):
                found.append((event, None))

    listener = threading.Thread(target=listen, daemon=True)
    listener.start()
    if not forks.Forking(theirs, server).grade(job):
        return CannotGrade(message="the session ended"), None
    listener.join()
    ours.close()
    theirs.close()
    return found[0]


if __name__ == "__main__":
    main()
