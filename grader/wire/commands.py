"""What a fork server is asked for, and what it answers."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from grader.wire.messages import Done, Message

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
