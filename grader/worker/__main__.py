"""A worker that was spawned: ready first, then given its files."""

from __future__ import annotations

import os

import msgspec

from grader.confinement.confine import unconfined
from grader.wire import frames
from grader.wire.commands import Spawn
from grader.wire.parent import ParentConnection


def main() -> None:
    """Serve as a worker for whoever started this process."""
    summons = ParentConnection()
    from grader.worker import serving

    serving.warm_up()
    sock = summons.answer()
    try:
        spawn, _ = frames.receive(sock, msgspec.msgpack.Decoder(Spawn))
        serving.enter(spawn.directory)
        frames.send(sock, unconfined())
        serving.serve(sock)
    except (EOFError, OSError):
        pass  # whoever started it wants no more of it
    # Not by way of what the student's code has left to be done at the end.
    os._exit(0)


if __name__ == "__main__":
    main()
