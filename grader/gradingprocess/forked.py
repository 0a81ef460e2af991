"""The grading process where it forks: one import of torch for everything that grades.

It is started with a clean environment, imports torch, forks the fork server, and only then learns
what to grade. What is imported here before that, every worker inherits.
"""

from __future__ import annotations

import socket
from collections.abc import Sequence
from pathlib import Path

from grader.confinement import prctl


def main(arguments: Sequence[str]) -> None:
    """Serve jobs from a socket until it closes.

    ``arguments`` are its descriptor, the process to end with, where to stage, and ``isolate`` if
    the fork server is to be.
    """
    descriptor, parent, staging, *isolate = arguments
    prctl.die_with_parent(int(parent))
    sock = socket.socket(fileno=int(descriptor))
    control = None if isolate else _fork_server()
    prctl.set_dumpable(False)
    _grade(sock, control, Path(staging))


def _fork_server() -> socket.socket:
    from grader.forkserver.serving import start

    _, control = start()
    return control


def _grade(sock: socket.socket, control: socket.socket | None, staging: Path) -> None:
    """Answer jobs; without ``control`` the fork server is isolated, and imports torch itself."""
    from grader.gradingprocess.forks import Forking
    from grader.gradingprocess.serving import refuse_every_job, serve
    from grader.wire.errors import SandboxMissing
    from grader.workers.forked import ForkServer

    try:
        server = (
            ForkServer.launch(staging=staging, isolate=True)
            if control is None
            else ForkServer(control, staging=staging)
        )
    except SandboxMissing as error:
        refuse_every_job(sock, str(error))
        return
    serve(sock, server, Forking(sock, server))
