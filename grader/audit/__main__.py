"""The process that audits: imports torch, then answers on standard output.

Started as ``python -I -m grader.audit COURSE SEEDS PAIRS ID...``; writes a JSON line for each step
and each audit.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec
import torch

from grader.audit.client import Audited, Event, Failed, Step
from grader.audit.measure import audit
from grader.course.loading import course_assignment, load_course
from grader.course.model import CourseError
from grader.session.errors import GraderFault
from grader.worker.serving import warm_up


def main() -> None:
    """Audit what the arguments say."""
    course, seeds, pairs, *assignments = sys.argv[1:]
    events = os.fdopen(os.dup(1), "wb", buffering=0)
    # What the audited code prints must not be taken for an event.
    os.dup2(2, 1)

    def say(event: Event) -> None:
        events.write(msgspec.json.encode(event) + b"\n")

    torch.set_num_threads(1)
    warm_up()
    try:
        loaded = load_course(Path(course))
        for name in assignments or list(loaded.assignments):
            assignment = course_assignment(loaded, name)
            found = audit(
                assignment,
                seeds=int(seeds),
                most_pairs=None if pairs == "all" else int(pairs),
                say=lambda text: say(Step(text)),
            )
            say(Audited(found))
    except (CourseError, GraderFault, ModuleNotFoundError) as error:
        say(Failed(str(error)))


if __name__ == "__main__":
    main()
