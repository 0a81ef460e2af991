"""The process that audits: imports torch, then answers on standard output.

Started as ``python -I -m grader.audit.process COURSE SEEDS PAIRS ID...``; writes a JSON line for
each step and each audit.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import msgspec

from grader.audit.model import Audit


class Step(msgspec.Struct, tag=True, tag_field="is"):
    text: str


class Audited(msgspec.Struct, tag=True, tag_field="is"):
    audit: Audit


class Failed(msgspec.Struct, tag=True, tag_field="is"):
    text: str


Event: TypeAlias = Step | Audited | Failed


class AuditError(Exception):
    """An audit could not be made; the text says what to mend."""


def run(
    course: Path,
    assignments: list[str],
    *,
    seeds: int,
    most_pairs: int | None = None,
    on_step: Callable[[str], None],
) -> Iterator[Audit]:
    """Audit assignments one after another in a process of their own; raises AuditError."""
    limits = [str(seeds), "all" if most_pairs is None else str(most_pairs)]
    command = [sys.executable, "-I", "-X", "utf8", "-m", __name__, str(course), *limits]
    environment = os.environ | {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
    with subprocess.Popen(
        [*command, *assignments], stdout=subprocess.PIPE, env=environment, cwd="/"
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            match msgspec.json.decode(line, type=Event):
                case Step(text):
                    on_step(text)
                case Audited(audit):
                    yield audit
                case Failed(text):
                    raise AuditError(text)
    if process.returncode != 0:
        raise AuditError("the process of the audit ended before it was done")


def main() -> None:
    """Audit what the arguments say."""
    import torch

    from grader.audit.measure import audit
    from grader.course.loading import course_assignment, load_course
    from grader.course.model import CourseError
    from grader.sandbox.worker import warm_up
    from grader.session.errors import GraderFault

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
