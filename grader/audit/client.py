"""Having suites audited, in a process of its own. Never imports torch."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from grader.audit.model import Audit
from grader.processes import lines


class Job(msgspec.Struct, kw_only=True):
    """Assignments of the course at an absolute path, to be audited one after another."""

    course: bytes
    assignments: list[str]
    seeds: int
    most_pairs: int | None = None


def run(job: Job, on_step: Callable[[str], None]) -> Iterator[Audit]:
    """The audits, each as soon as it is made; raises ProcessFailed."""
    return lines.ask(__package__, job, Audit, lambda step: on_step(step.text))
