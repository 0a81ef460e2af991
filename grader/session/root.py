"""The grading process: one import of torch for everything that grades.

It is started with a clean environment, imports torch, forks the fork server, and only then learns
what to grade.
"""

from __future__ import annotations

import signal
import socket
import sys
from pathlib import Path

from grader.sandbox import process
from grader.sandbox.client import ForkServer
from grader.sandbox.errors import SandboxMissing
from grader.session.serving import refuse_every_job, serve


def main() -> None:
    """Serve jobs from a socket until it closes.

    Arguments are its descriptor, the process to end with, where to stage, and ``isolate`` if the
    fork server is to be.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    descriptor, parent, staging, *isolate = sys.argv[1:]
    process.die_with_parent(int(parent))
    sock = socket.socket(fileno=int(descriptor))
    try:
        server = _fork_server(Path(staging), isolate=bool(isolate))
    except SandboxMissing as error:
        refuse_every_job(sock, str(error))
        return
    process.set_dumpable(False)
    # Hidden suites and references enter this process only from here on.
    from grader.session.forking import Forking

    serve(sock, server, Forking(sock, server))


def _fork_server(staging: Path, *, isolate: bool) -> ForkServer:
    """A fork of this process; or, isolated, one that imports torch itself at the same time."""
    if isolate:
        return ForkServer.launch(staging=staging, isolate=True)
    from grader.sandbox.forkserver import start

    _, control = start()
    return ForkServer(control, staging=staging)


if __name__ == "__main__":
    main()
