"""A worker's life: confine itself, say so, then serve requests until its socket closes."""

from __future__ import annotations

import bdb
import code
import contextlib
import os
import socket
import sys
import tempfile
import types
from collections.abc import Callable
from typing import NoReturn, TypeAlias

import msgspec

from grader.confinement.confine import Prepared, confine
from grader.execution import settings, torch_without_dynamo
from grader.execution.executor import Executor
from grader.execution.torch_without_dynamo import torch
from grader.wire import frames
from grader.wire.commands import Probed, Spawn, Targets
from grader.wire.messages import Reply, Request, Unusable
from grader.worker import tripwire

Life: TypeAlias = Callable[[socket.socket], None]
"""What a worker does with its socket once it is confined; it ends when that returns."""

_SOCKET = 3
_requests: msgspec.msgpack.Decoder[Request] = msgspec.msgpack.Decoder(Request)


def warm_up() -> None:
    """Do once what every worker would do first: kernels, dispatch tables, the autograd engine."""
    torch.set_num_threads(1)
    x = torch.randn(8, 8, requires_grad=True)
    torch.autograd.grad((x @ x).softmax(-1).sum(), x)
    torch.nn.Linear(2, 2)(torch.ones(1, 2))
    # The first product on meta imports half a second's worth of torch.
    nowhere = torch.empty(2, 2, device="meta")
    (nowhere @ nowhere / 2.0).softmax(-1)
    tripwire.prepare()
    # Modules ask where it is when they are imported, and no worker could try a place out.
    with contextlib.suppress(OSError):
        tempfile.gettempdir()
    _import_what_makes_a_folder()
    settings.readable()


def _import_what_makes_a_folder() -> None:
    """Import what older torch imports for an optimiser, and which makes a temporary folder then.

    No worker could make one. A process that has done this before has it already.
    """
    with contextlib.suppress(ImportError, OSError, ValueError):
        from torch.distributed.nn.jit import instantiator

        if folder := getattr(instantiator, "_TEMP_DIR", None):
            folder.cleanup()
            sys.path.remove(folder.name)


def run(
    sock: socket.socket, output: int, spawn: Spawn, parent: int, prepared: Prepared, live: Life
) -> None:
    """Become a worker in this freshly forked process, and live as ``live`` does.

    ``output`` is the write end of the pipe that takes what the student's code prints.
    """
    sock = _keep_only(sock, output)
    os.setsid()
    if spawn.cores:
        with contextlib.suppress(OSError):  # they may have been taken from it since
            os.sched_setaffinity(0, spawn.cores)
    if spawn.confinement.tried:
        # It could not be read any more once files are closed.
        import grader.worker.attempts  # noqa: F401
    enter(spawn.directory)
    ready = confine(spawn, parent, prepared)
    frames.send(sock, ready)
    live(sock)


def enter(directory: str) -> None:
    """Make the folder of the staged files this process's own, and start its streams afresh."""
    os.chdir(directory)
    sys.path[:] = [entry for entry in sys.path if entry] + [directory]
    sys.dont_write_bytecode = True
    sys.argv = [""]
    # torch's compiler asks for a folder as soon as it is imported, and elsewhere it may make none.
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = directory
    _leave_checking_to_others()
    torch_without_dynamo.leave_compiling_out()
    _wait_for_nobody()
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        stream = open(  # noqa: SIM115
            number, mode, encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def serve(sock: socket.socket) -> None:
    """Answer requests until the other side closes."""
    executor = Executor(own_process=True, watch=tripwire.Tripwire)
    while True:
        try:
            request, blob = frames.receive(sock, _requests)
        except EOFError:
            return
        reply: Reply
        data: bytes | bytearray = b""
        if isinstance(request, Targets):
            reply = _break_out(request)
        else:
            reply, data = executor.handle(request, blob)
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        try:
            frames.send(sock, reply, data)
        except frames.TooLarge:
            frames.send(sock, Unusable(problem="more than this grader accepts"))


def _break_out(targets: Targets) -> Probed:
    from grader.worker.attempts import try_all

    return Probed(results=try_all(targets))


def _wait_for_nobody() -> None:
    """Have debuggers raise what ``input`` does, at the line that begins one."""

    def refuse(*_: object, **__: object) -> NoReturn:
        raise EOFError("EOF when reading a line")

    sys.breakpointhook = refuse
    vars(bdb)["Bdb"].set_trace = refuse
    vars(code)["InteractiveConsole"].interact = refuse


def _leave_checking_to_others() -> None:
    """Let ``from grader.notebook import check``, which notebooks are handed in with, do nothing."""
    name = "grader.notebook"
    module = types.ModuleType(name)
    vars(module)["check"] = lambda *objects, **options: None
    sys.modules[name] = vars(sys.modules["grader"])["notebook"] = module


def _keep_only(sock: socket.socket, output: int) -> socket.socket:
    """Keep the socket, an empty stdin, the output pipe as stdout and stderr, nothing else."""
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.dup2(sock.fileno(), _SOCKET)
    sock.detach()
    os.closerange(_SOCKET + 1, os.sysconf("SC_OPEN_MAX"))
    return socket.socket(fileno=_SOCKET)
