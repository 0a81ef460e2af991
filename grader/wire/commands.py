"""How a worker is started, confined, tried and ended, as typed messages.

A fork server is asked for that; what is confined says what holds.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec


class Message(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, tag=True, tag_field="is"):
    """What all of them are: a struct that says which one it is."""


class FromWorker(Message, kw_only=True):
    """What every reply has."""

    tripped: dict[str, str] = {}
    """What the assignment forbids and ran since the last reply, as far as the worker noticed.

    The assignment's entry, and what ran: that itself, or another that does its job.
    """
    skipped: list[str] = []
    """Compilers that were asked for since then, and gave back what they were given."""


class Done(FromWorker):
    pass


# What a worker is held to, and says of it.

Layer: TypeAlias = Literal[
    "limits", "privileges", "user", "memory", "parent", "landlock", "seccomp"
]


class Confinement(Message):
    """What a worker is held to."""

    memory_bytes: int
    cpu_seconds: int
    file_bytes: int = 1 << 20
    open_files: int = 64
    tried: bool = False
    """Whether it will be asked to break out, which it learns before it is closed in."""
    without: list[Layer] = msgspec.field(default_factory=list)
    """Layers to leave out, which the report then says."""


class Gap(Message):
    """A guarantee that does not hold, why not, and what would mend it."""

    guarantee: str
    why: str
    advice: str = ""
    promised: bool = True
    """False for what goes beyond the layers that every worker should have."""

    def __str__(self) -> str:
        return f"{self.guarantee} ({self.why})"


class Ready(FromWorker):
    """A worker is confined, and no code of a student's has run yet."""

    enforced: list[str]
    gaps: list[Gap] = []

    @property
    def missing(self) -> list[Gap]:
        """What was promised and does not hold."""
        return [gap for gap in self.gaps if gap.promised]


class Targets(Message):
    """Try to do harm; what to try it on, all made for the purpose."""

    file: str
    program: str
    folder: str
    port: int
    """Of TCP, on the loopback interface."""
    memory_bytes: int
    open_files: int
    environment: list[str]
    """Names of variables that may be there."""
    isolated: bool = False
    """Whether not even the existence of ``file`` should show."""


class Tried(Message):
    """How one attempt ended: ``held`` if it was refused, and what was seen."""

    name: str
    held: bool
    seen: str


class Probed(FromWorker):
    results: list[Tried]


# Commands to a fork server, and its answers.


class Spawn(Message):
    """Fork a worker; its socket and the write end of its output pipe travel beside."""

    directory: str
    confinement: Confinement
    cores: list[int] = msgspec.field(default_factory=list)
    """Processor cores that it may run on, if not all."""


class Reap(Message):
    pid: int


class KillAll(Message):
    """Kill and reap every worker that is left."""


class Spawned(Message):
    """A pidfd of the worker travels beside."""

    pid: int


class Reaped(Message):
    status: int


Command: TypeAlias = Spawn | Reap | KillAll
Answer: TypeAlias = Spawned | Reaped | Done
