"""The grading process: one import of torch for everything that grades.

It is started with a clean environment, imports torch, forks the fork server, and only then learns
what to grade. Each job is graded in a fork of its own, so that nothing of one reaches the next: the
first for an assignment in a fork of this process, those that follow in forks of a template, which
has that assignment's suites collected.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
import sys
from pathlib import Path

import msgspec

from grader.sandbox import frames, process
from grader.sandbox.client import ForkServer
from grader.sandbox.errors import SandboxError, SandboxMissing
from grader.session.protocol import Fault, Job

_jobs: msgspec.msgpack.Decoder[Job] = msgspec.msgpack.Decoder(Job)


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
        _refuse_every_job(sock, str(error))
        return
    process.set_dumpable(False)
    # Hidden suites and references enter this process only from here on.
    import torch

    torch.set_num_threads(1)
    import grader.session.grading  # noqa: F401
    from grader.session import bench, pytest_run
    from grader.session.requiring import require
    from grader.session.templates import Templates

    pytest_run.warm_up()
    bench.warm_up()
    gc.collect()
    gc.freeze()
    templates = Templates(sock, server)
    tried = False
    while True:
        try:
            job, _ = frames.receive(sock, _jobs)
        except EOFError:
            server.close()
            return
        if job.sandbox == "require" and not tried:
            try:
                require(server)
            except SandboxError as error:
                frames.send(sock, Fault(message=str(error), for_every_job=True))
                continue
            tried = True
        template = None if job.demonstrations_only else templates.for_job(job)
        ended_well = template.grade(job) if template else _grade_in_fork(job, sock, server)
        with contextlib.suppress(Exception):
            server.kill_all()
        if not ended_well:
            frames.send(sock, Fault(message="the process that graded it ended before it was done"))


def _fork_server(staging: Path, *, isolate: bool) -> ForkServer:
    """A fork of this process; or, isolated, one that imports torch itself at the same time."""
    if isolate:
        return ForkServer.launch(staging=staging, isolate=True)
    from grader.sandbox.forkserver import start

    _, control = start()
    return ForkServer(control, staging=staging)


def _refuse_every_job(sock: socket.socket, why: str) -> None:
    with contextlib.suppress(EOFError):
        while True:
            frames.receive(sock, _jobs)
            frames.send(sock, Fault(message=why, for_every_job=True))


def _grade_in_fork(job: Job, sock: socket.socket, server: ForkServer) -> bool:
    """Grade in a fork of this process; whether that ended as it should."""
    me = os.getpid()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            process.die_with_parent(me)
            gc.disable()  # this process ends before collecting could pay
            from grader.session.answering import answer, progress_to
            from grader.session.demonstrating import demonstrate
            from grader.session.grading import grade

            if job.demonstrations_only:
                answer(sock, lambda: demonstrate(job, server))
            else:
                answer(sock, lambda: grade(job, server, progress_to(sock)))
            status = 0
        finally:
            os._exit(status)
    return os.waitpid(pid, 0)[1] == 0


if __name__ == "__main__":
    main()
