"""How workers are started: forked off a process that has imported torch, or spawned."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from grader.processes.environment import forks
from grader.wire.commands import Confinement

if TYPE_CHECKING:
    from grader.workers.handle import Worker


class Workers(Protocol):
    """Whatever starts workers."""

    staging: Path | None
    """Below this, staged files are to lie; None for the system's temporary folder."""

    confines: bool
    """Whether its workers are confined by the kernel."""

    def spawn(self, directory: Path, confinement: Confinement) -> Worker:
        """Start a worker for the staged files in ``directory``; raises SandboxError."""
        ...

    def kill_all(self) -> None:
        """Kill and reap every worker that is left."""
        ...

    def close(self) -> None:
        """End with every worker."""
        ...


def start_workers(*, staging: Path | None = None, isolate: bool = False) -> Workers:
    """Start what starts workers in the way of this system.

    With ``isolate`` they see of the disk only what they run on, and ``staging``; raises
    SandboxMissing where that cannot be had.
    """
    if forks():
        from grader.workers.forked import ForkServer

        return ForkServer.launch(staging=staging, isolate=isolate)
    from grader.workers.spawned import SpawnServer

    return SpawnServer.launch(staging=staging, isolate=isolate)
