"""Grading each job in a fork of its own, so that nothing of one reaches the next.

The first job for an assignment has a fork of the grading process; those that follow have forks of a
template, which has that assignment's suites collected.
"""

from __future__ import annotations

import gc
import os
import socket

from grader.confinement import limits, prctl
from grader.gradingprocess.serving import answer_job
from grader.gradingprocess.templates import Templates
from grader.jobs.protocol import Job
from grader.processes import cores
from grader.wire.budget import SESSION_BYTES
from grader.workers.starting import Workers


class Forking:
    """Grades jobs in forks of this process, with workers of ``server``, and answers to ``sock``."""

    def __init__(self, sock: socket.socket, server: Workers) -> None:
        self._sock = sock
        self._server = server
        self._templates = Templates(sock, server)

    def grade(self, job: Job) -> bool:
        template = None if job.demonstrations_only else self._templates.for_job(job)
        return template.grade(job) if template else self._grade_in_fork(job)

    def _grade_in_fork(self, job: Job) -> bool:
        me = os.getpid()
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                prctl.die_with_parent(me)
                cores.keep_to_one()
                limits.cap_growth(SESSION_BYTES)
                gc.disable()  # this process ends before collecting could pay
                answer_job(job, self._sock, self._server)
                status = 0
            finally:
                os._exit(status)
        return os.waitpid(pid, 0)[1] == 0
