"""What is enforced on this machine, found out by a throw-away worker that tries to break out."""

from __future__ import annotations

import socket
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from grader.confinement import namespaces
from grader.confinement.confine import unconfined
from grader.processes.environment import CLEAN_ENVIRONMENT
from grader.processes.staging import PREFIX, Staging
from grader.wire.commands import Confinement, Layer, Probed, Ready, Targets, Tried
from grader.wire.errors import SandboxError, WorkerLost
from grader.workers.starting import Workers, start_workers

MEMORY_BYTES = 256 << 20
SECONDS = 60.0
_SET_BY_TORCH = ("TORCHINDUCTOR_CACHE_DIR",)


def examine(
    server: Workers | None = None,
    *,
    without: Sequence[Layer] = (),
    isolate: bool = False,
) -> tuple[Ready, list[Tried]]:
    """What a worker of ``server`` (default: one of its own) says of itself, and what it could do.

    ``without`` leaves layers out, ``isolate`` puts such a server into bubblewrap. Raises
    SandboxError if no worker can be started. Where workers are not confined, nothing is tried.
    """
    if server is None:
        staging = Staging()
        try:
            server = start_workers(staging=staging.path, isolate=isolate)
            try:
                return examine(server, without=without)
            finally:
                server.close()
        finally:
            staging.close()
    if not server.confines:
        return unconfined(), []
    confinement = Confinement(
        memory_bytes=MEMORY_BYTES, cpu_seconds=60, tried=True, without=list(without)
    )
    with (
        tempfile.TemporaryDirectory(prefix=PREFIX) as elsewhere,
        tempfile.TemporaryDirectory(prefix=PREFIX, dir=server.staging) as staged,
        socket.socket() as listener,
    ):
        # Open to every user, so that it is the sandbox that refuses.
        outside, inside = Path(elsewhere), Path(staged)
        outside.chmod(0o777)
        inside.chmod(0o755)
        file, program = outside / "file", outside / "program"
        for path in (file, program):
            path.write_bytes(b"\0 not a program\n")
            path.chmod(0o777)
        listener.bind(("127.0.0.1", 0))
        listener.listen(8)
        targets = Targets(
            file=str(file),
            program=str(program),
            folder=str(outside),
            port=listener.getsockname()[1],
            memory_bytes=confinement.memory_bytes,
            open_files=confinement.open_files,
            environment=[*CLEAN_ENVIRONMENT, *_SET_BY_TORCH],
        )
        worker = server.spawn(inside, confinement)
        try:
            ready = worker.wait_ready()
            targets.isolated = namespaces.FILES in ready.enforced
            reply, _ = worker.request(targets, b"", Probed, time.monotonic() + SECONDS)
        except WorkerLost as lost:
            raise SandboxError(f"the worker that tries the sandbox was lost: {lost}") from None
        finally:
            worker.kill()
    if not isinstance(reply, Probed):
        raise SandboxError(f"the worker that tries the sandbox could not: {reply}")
    return ready, reply.results
