"""A worker that was spawned: ready first, then given its files."""

from __future__ import annotations

import os

import msgspec

from grader.sandbox import frames
from grader.sandbox.commands import Spawn
from grader.sandbox.confine import unconfined
from grader.sandbox.spawning import Summons


def main() -> None:
    """Serve as a worker for whoever started this process."""
    summons = Summons()
    from grader.sandbox import worker

    worker.warm_up()
    sock = summons.answer()
    try:
        spawn, _ = frames.receive(sock, msgspec.msgpack.Decoder(Spawn))
        worker.enter(spawn.directory)
        frames.send(sock, unconfined())
        worker.serve(sock)
    except (EOFError, OSError):
        pass  # whoever started it wants no more of it
    # Not by way of what the student's code has left to be done at the end.
    os._exit(0)


if __name__ == "__main__":
    main()
