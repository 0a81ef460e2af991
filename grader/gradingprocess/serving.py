"""The life of a grading process, however it was started: job after job, until nobody asks."""

from __future__ import annotations

import contextlib
import gc
import socket
from typing import Protocol

import msgspec

from grader.jobs.protocol import CannotGrade, Job
from grader.wire import frames
from grader.wire.errors import SandboxError
from grader.workers.starting import Workers

_jobs: msgspec.msgpack.Decoder[Job] = msgspec.msgpack.Decoder(Job)


class Grading(Protocol):
    """Where a job is graded: in a process of its own, or in this one."""

    def grade(self, job: Job) -> bool:
        """Grade it and answer; whether that ended as it should."""
        ...


def serve(sock: socket.socket, server: Workers, grading: Grading) -> None:
    """Answer jobs from ``sock`` until it closes, then end ``server``."""
    _warm_up()
    tried = False
    while True:
        try:
            job, _ = frames.receive(sock, _jobs)
        except EOFError:
            server.close()
            return
        if job.sandbox == "require" and not tried:
            from grader.workers.requiring import require

            try:
                require(server)
            except SandboxError as error:
                frames.send(sock, CannotGrade(message=str(error), for_every_job=True))
                continue
            tried = True
        ended_well = grading.grade(job)
        with contextlib.suppress(Exception):
            server.kill_all()
        if not ended_well:
            frames.send(
                sock, CannotGrade(message="the process that graded it ended before it was done")
            )


def answer_job(job: Job, sock: socket.socket, server: Workers) -> None:
    """Do in this process what the job asks for, and answer."""
    from grader.gradingprocess.answering import answer, progress_to
    from grader.session.demonstrating import demonstrate
    from grader.session.grading import grade

    if job.demonstrations_only:
        answer(sock, lambda: demonstrate(job, server))
    else:
        answer(sock, lambda: grade(job, server, progress_to(sock)))


def refuse_every_job(sock: socket.socket, why: str) -> None:
    """Answer each job with ``why``, until the socket closes."""
    with contextlib.suppress(EOFError):
        while True:
            frames.receive(sock, _jobs)
            frames.send(sock, CannotGrade(message=why, for_every_job=True))


def _warm_up() -> None:
    """Do once what every job would do first."""
    from grader.execution.torch_without_dynamo import torch

    torch.set_num_threads(1)
    import grader.session.grading  # noqa: F401
    from grader.session.checks import collecting, context

    collecting.warm_up()
    context.warm_up()
    gc.collect()
    gc.freeze()
