"""Processes that have an assignment's suites collected, and fork for each job.

A template never sees a submission. It is thrown away as soon as anything that it was made from has
changed. Saves about a quarter of a warm grading (benchmarks/warm_run.py).
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TypeAlias

import msgspec

from grader.confinement import limits, prctl
from grader.execution import torch_without_dynamo
from grader.gradingprocess.answering import answer, progress_to
from grader.jobs.protocol import Job
from grader.processes import cores
from grader.wire import frames
from grader.wire.budget import SESSION_BYTES
from grader.workers.starting import Workers

MOST_TEMPLATES = 16

Key: TypeAlias = tuple[bytes, str, bool]
Stamp: TypeAlias = tuple[tuple[str, int, int, int], ...]

_jobs: msgspec.msgpack.Decoder[Job] = msgspec.msgpack.Decoder(Job)
_READY, _WELL, _BADLY = b"r", b"w", b"b"


class Templates:
    """The templates of a grading process, made for a second job of their kind, or one of many."""

    def __init__(self, events: socket.socket, server: Workers) -> None:
        self._events = events
        self._server = server
        self._seen: dict[Key, Stamp] = {}
        self._made: dict[Key, Template] = {}

    def for_job(self, job: Job) -> Template | None:
        """A template that is up to date, or None where the job is best graded without."""
        key = (os.fsencode(job.course), job.assignment, job.public_only)
        stamp = _stamp(Path(os.fsdecode(job.course)))
        if self._seen.get(key) != stamp:
            self._seen[key] = stamp
            self._drop(key)
            # One job alone is not worth a template, and a course may be about to change again.
            if not job.repeated:
                return None
        if key not in self._made:
            if len(self._made) >= MOST_TEMPLATES:
                self._drop(next(iter(self._made)))
            torch_without_dynamo.import_the_compiler()
            made = Template.make(job, self._events, self._server, list(self._made.values()))
            if made is None:
                return None
            self._made[key] = made
        return self._made[key]

    def _drop(self, key: Key) -> None:
        if template := self._made.pop(key, None):
            template.end()


class Template:
    """A hold on one such process."""

    def __init__(self, pid: int, control: socket.socket) -> None:
        self._pid = pid
        self._control = control

    @classmethod
    def make(
        cls, like: Job, events: socket.socket, server: Workers, others: list[Template]
    ) -> Template | None:
        """Fork one for jobs like this; None if its course or its suites do not let it be made."""
        ours, theirs = socket.socketpair()
        me = os.getpid()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                prctl.die_with_parent(me)
                ours.close()
                for other in others:
                    other._control.close()
                _serve(like, theirs, events, server)
                status = 0
            finally:
                os._exit(status)
        theirs.close()
        made = cls(pid, ours)
        if ours.recv(1) == _READY:
            return made
        made.end()
        return None

    def grade(self, job: Job) -> bool:
        """Have a fork of it grade the job; whether that ended as it should."""
        with contextlib.suppress(OSError):
            frames.send(self._control, job)
            if said := self._control.recv(1):
                return said == _WELL
        # It may have been half way through an answer: whoever waits for that must not go on.
        os._exit(1)

    def end(self) -> None:
        """Kill and reap it."""
        self._control.close()
        with contextlib.suppress(ProcessLookupError):
            os.kill(self._pid, signal.SIGKILL)
        os.waitpid(self._pid, 0)


def _serve(like: Job, control: socket.socket, events: socket.socket, server: Workers) -> None:
    """Be a template, and in each child grade one job; raises where the suites cannot be used."""
    from grader.session.grading import prepared

    with prepared(like) as suites:
        suites.work_ahead()
        control.send(_READY)
        while True:
            try:
                job, _ = frames.receive(control, _jobs)
            except EOFError:
                return
            me = os.getpid()
            pid = os.fork()
            if pid == 0:
                prctl.die_with_parent(me)
                cores.keep_to_one()
                control.close()
                limits.cap_growth(SESSION_BYTES)
                gc.disable()
                grade = partial(suites.grade, job, server, progress_to(events))
                answer(events, grade)
                return
            _, status = os.waitpid(pid, 0)
            control.send(_WELL if status == 0 else _BADLY)


def _stamp(course: Path) -> Stamp:
    """Names, times and sizes of all that a template is made from, and that is no stub."""
    return tuple(found for folder in sources(course) for found in _files(str(folder)))


def sources(course: Path) -> list[Path]:
    """The folders of a course whose files are imported to grade."""
    return [course / "assignments", course / "solutions", course / "tests" / "hidden"]


def _files(folder: str) -> Iterator[tuple[str, int, int, int]]:
    try:
        with os.scandir(folder) as entries:
            listed = sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return
    # A student's own file may lie in the course, and is not a part of any template.
    above, name = os.path.split(folder)
    stub = f"{name}.py" if os.path.basename(above) == "assignments" else None
    for entry in listed:
        if entry.name == "__pycache__" or entry.name.startswith(".") or entry.name.endswith("~"):
            continue
        if entry.is_dir():
            yield from _files(entry.path)
        elif entry.name != stub:
            status = entry.stat()
            yield entry.path, status.st_mtime_ns, status.st_ctime_ns, status.st_size
