"""How workers are started: forked off a process that has imported torch, or spawned."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from grader.sandbox.commands import Confinement

if TYPE_CHECKING:
    from grader.sandbox.client import Worker

OPTION = "GRADE_START"
"""Set to ``spawn``, this environment variable has Linux start processes as macOS and Windows do."""

CLEAN_ENVIRONMENT = {
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "HOME": "/nonexistent",
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "TORCHDYNAMO_DISABLE": "1",
}
"""All that the processes near student code see of the environment."""


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


def forks() -> bool:
    """Whether processes are forked here, and confined, or else spawned.

    macOS can fork too, but what frameworks have started by then does not survive it.
    """
    return sys.platform == "linux" and os.environ.get(OPTION, "") != "spawn"


def start_workers(*, staging: Path | None = None, isolate: bool = False) -> Workers:
    """Start what starts workers in the way of this system.

    With ``isolate`` they see of the disk only what they run on, and ``staging``; raises
    SandboxMissing where that cannot be had.
    """
    if forks():
        from grader.sandbox.client import ForkServer

        return ForkServer.launch(staging=staging, isolate=isolate)
    from grader.sandbox.spawnserver import SpawnServer

    return SpawnServer.launch(staging=staging, isolate=isolate)
