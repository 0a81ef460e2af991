"""Layer 1: resource limits of a worker."""

from __future__ import annotations

import contextlib
from pathlib import Path

from grader.wire.commands import Confinement


def apply(confinement: Confinement) -> tuple[list[str], list[str]]:
    """Limit this process; returns what is enforced now and what could not be.

    Memory is counted from what the process holds already, since importing torch alone maps
    hundreds of megabytes.
    """
    import resource

    limits = {
        "core dumps": ("RLIMIT_CORE", 0),
        "processor time": ("RLIMIT_CPU", confinement.cpu_seconds + 1),
        "file size": ("RLIMIT_FSIZE", confinement.file_bytes),
        "open files": ("RLIMIT_NOFILE", confinement.open_files),
        "locked memory": ("RLIMIT_MEMLOCK", 0),
        "message queues": ("RLIMIT_MSGQUEUE", 0),
    }
    for name, held in (("data", _held("VmData")), ("address space", _held("VmSize"))):
        if held is not None:
            key = "RLIMIT_DATA" if name == "data" else "RLIMIT_AS"
            limits[f"memory ({name})"] = (key, held + confinement.memory_bytes)
    enforced, not_enforced = [], []
    for name, (key, value) in limits.items():
        try:
            kind = getattr(resource, key)
            hard = resource.getrlimit(kind)[1]
            if hard != resource.RLIM_INFINITY:
                value = min(value, hard)
            # At the hard limit on processor time comes SIGKILL; one second before, its own signal.
            soft = value - 1 if key == "RLIMIT_CPU" and value > 1 else value
            resource.setrlimit(kind, (soft, value))
            enforced.append(f"limit on {name}")
        except (AttributeError, ValueError, OSError):
            not_enforced.append(f"limit on {name}")
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000")
    return enforced, not_enforced


def cap_growth(size: int) -> None:
    """Let this process's memory grow by so many bytes; then there is a MemoryError."""
    import resource

    held = _held("VmSize")
    if held is not None:
        hard = resource.getrlimit(resource.RLIMIT_AS)[1]
        most = held + size if hard == resource.RLIM_INFINITY else min(held + size, hard)
        resource.setrlimit(resource.RLIMIT_AS, (most, hard))


def forbid_processes() -> None:
    """Let this process start no other and no thread; root is not bound by this."""
    import resource

    resource.setrlimit(resource.RLIMIT_NPROC, (1, 1))


def _held(key: str) -> int | None:
    """Bytes of this process's memory of one kind, from ``/proc``."""
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(f"{key}:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None
