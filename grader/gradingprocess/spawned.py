"""The grading process where none is forked: workers are spawned, and each job is graded in it."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from grader.gradingprocess.serving import answer_job, refuse_every_job, serve
from grader.gradingprocess.templates import sources
from grader.jobs.protocol import Job
from grader.wire.errors import SandboxMissing
from grader.wire.parent import ParentConnection
from grader.workers.spawned import SpawnServer
from grader.workers.starting import Workers


def main(arguments: Sequence[str]) -> None:
    """Serve jobs for whoever started this process.

    ``arguments`` are ``spawned``, where to stage, and ``isolate`` if workers are to be.
    """
    sock = ParentConnection().answer()
    _, staging, *isolate = arguments
    try:
        # The first worker imports torch while this process does.
        server = SpawnServer.launch(staging=Path(staging), isolate=bool(isolate))
    except SandboxMissing as error:
        refuse_every_job(sock, str(error))
        return
    serve(sock, server, _InThisProcess(sock, server))


class _InThisProcess:
    """Grades jobs here; the next one finds the suites and references as they then are."""

    def __init__(self, sock: socket.socket, server: Workers) -> None:
        self._sock = sock
        self._server = server

    def grade(self, job: Job) -> bool:
        with _forgetting(Path(os.fsdecode(job.course))):
            answer_job(job, self._sock, self._server)
        return True


@contextlib.contextmanager
def _forgetting(course: Path) -> Iterator[None]:
    """Forget what is imported from ``course`` meanwhile, which may change, as may the course."""
    path = sys.path[:]
    try:
        yield
    finally:
        sys.path[:] = path
        for name, module in list(sys.modules.items()):
            file = getattr(module, "__file__", None)
            if isinstance(file, str) and any(map(Path(file).is_relative_to, sources(course))):
                del sys.modules[name]
