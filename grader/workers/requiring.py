"""A sandbox that is required: what is missing is said, and nothing is graded."""

from __future__ import annotations

from collections.abc import Sequence

from grader.wire.commands import Gap, Tried
from grader.wire.errors import SandboxMissing
from grader.worker.attempts import promise
from grader.workers.doctor import examine
from grader.workers.starting import Workers


def require(server: Workers) -> None:
    """Try every promise with a throw-away worker; raises SandboxMissing if one does not hold."""
    ready, tried = examine(server)
    refuse(ready.missing, [one for one in tried if not one.held])


def refuse(gaps: Sequence[Gap], broken: Sequence[Tried] = ()) -> None:
    """Raise SandboxMissing for guarantees that do not hold, or else for promises that were broken.

    Gaps explain broken promises, so that these are named only where there is no gap.
    """
    if not gaps and not broken:
        return
    lines = [f"- {gap}. {gap.advice}".rstrip() for gap in gaps]
    if not gaps:
        lines = [f"- {promise(one.name)}: {one.seen}." for one in broken]
    raise SandboxMissing(
        "\n".join(
            [
                "the sandbox is required, and this does not hold here:",
                *lines,
                "Run `grade doctor` for details. --sandbox auto grades anyway, with a note.",
            ]
        )
    )
