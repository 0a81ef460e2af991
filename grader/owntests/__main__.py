"""The process that runs students' own tests: imports torch and pytest, then answers.

Started as ``python -I -m grader.owntests JOB``, with a ``Job`` in JSON.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec
import torch

from grader.confinement import prctl
from grader.course.loading import course_assignment, load_course
from grader.course.model import CourseError, NotGradable
from grader.forkserver.serving import start
from grader.owntests import worker
from grader.owntests.client import Job
from grader.owntests.measure import measure
from grader.owntests.running import replies
from grader.processes import cores
from grader.processes.lines import Answers
from grader.processes.staging import Staging
from grader.session.checks import collecting
from grader.session.errors import GraderFault
from grader.wire.errors import SandboxError
from grader.workers.forked import ForkServer
from grader.workers.requiring import require


def main() -> None:
    """Measure what the argument says."""
    prctl.die_with_parent(os.getppid())
    job = msgspec.json.decode(sys.argv[1], type=Job)
    torch.set_num_threads(1)
    staging = Staging()
    # Each is forked before anything of the course is known here, and while there is one thread.
    servers = [] if job.isolate else _forked()
    prctl.set_dumpable(False)
    answers = Answers()
    try:
        if job.isolate:
            servers = _isolated(staging.path)
        if job.sandbox == "require":
            require(servers[0])
        found = measure(
            course_assignment(load_course(Path(job.course)), job.assignment),
            Path(job.tests),
            servers,
            seed=job.seed,
            sandbox=job.sandbox,
            staging=staging.path,
            seconds=job.seconds,
            most_faults=job.most_faults,
            on_progress=lambda done, total: answers.step(done=done, total=total),
        )
        answers.result(found)
    except (CourseError, NotGradable) as error:
        answers.failed(error, wrong_usage=True)
    except (SandboxError, GraderFault) as error:
        answers.failed(error)
    finally:
        for server in servers:
            server.close()
        staging.close()


def _forked() -> list[ForkServer]:
    collecting.warm_up()
    return [ForkServer(start(worker.live)[1], replies=replies) for _ in range(_cores())]


def _isolated(staging: Path) -> list[ForkServer]:
    """Fork servers that see nothing of the course; raises SandboxMissing where none can be had."""
    return [
        ForkServer.launch(
            staging=staging, isolate=True, program="grader.owntests.forkserver", replies=replies
        )
        for _ in range(_cores())
    ]


def _cores() -> int:
    return min(4, cores.available())


if __name__ == "__main__":
    main()
