"""Layer 5, as a worker knows it: what it is not shown, by the namespaces it was started in."""

from __future__ import annotations

from collections.abc import Sequence

from grader.wire.commands import Gap

FILES = "existence of files hidden by bubblewrap"
PROCESSES = "processes hidden by bubblewrap"
NETWORK = "network taken away by bubblewrap"
_ADVICE = "Grade with --isolate where bubblewrap works."


def gaps(holds: Sequence[str]) -> list[Gap]:
    """What of this layer a fork server does not give its workers."""
    if not holds:
        return [Gap(guarantee=FILES, why="not asked for", advice=_ADVICE, promised=False)]
    return [
        Gap(guarantee=name, why="the system refused it", promised=False)
        for name in (PROCESSES, NETWORK)
        if name not in holds
    ]
