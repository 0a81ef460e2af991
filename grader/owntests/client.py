"""Runs students' own tests in a separate process. Never imports torch."""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from grader.jobs.protocol import SandboxMode
from grader.owntests.model import Thoroughness
from grader.processes import lines
from grader.processes.lines import Step


class Job(msgspec.Struct, kw_only=True):
    """A file of tests to be measured for one assignment; paths are absolute."""

    course: str
    assignment: str
    tests: str
    seed: int
    sandbox: SandboxMode = "auto"
    isolate: bool = False
    most_faults: int | None = None
    seconds: float | None = None
    """What one test may take; overrides the assignment's limit of a check."""


def run(job: Job, on_step: Callable[[Step], None] = lambda _: None) -> Thoroughness:
    """Measure a file of tests in a process of its own; the result is an instructor's.

    Steps are variants that have been run. Raises ProcessFailed.
    """
    (found,) = lines.ask(__package__, job, Thoroughness, on_step)
    return found
