"""Layer 5: bubblewrap around the fork server, for what the layers of a worker cannot hide.

Landlock closes a file, but not that it exists, its size and its dates. In a mount namespace that
holds the interpreter, its packages and the staged files, the rest of the disk is not there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec

from grader.confinement.namespaces import FILES, NETWORK, PROCESSES
from grader.confinement.readable import code_paths
from grader.wire.errors import SandboxMissing

SEARCH = "/usr/bin:/bin:/usr/local/bin"
"""Not the PATH of whoever grades, where anything could be called bwrap."""
SECONDS = 20.0
_FINDING_LIBRARIES = ("/sbin/ldconfig", "/sbin/ldconfig.real", "/bin/sh")
"""What the C library's helper consists of, which is asked for libseccomp; Ubuntu's is a script."""
_NAMESPACES = {
    PROCESSES: ("--unshare-pid", "--proc", "/proc"),
    NETWORK: ("--unshare-net",),
}
_LADDER = ((PROCESSES, NETWORK), (PROCESSES,), (NETWORK,), ())
"""Containers often refuse one or the other."""


class Isolation(msgspec.Struct, frozen=True):
    """What to put before a command, and what that turned out to give here."""

    prefix: list[str]
    holds: list[str]


def find(staging: Path | None = None) -> Isolation:
    """The most isolation that works here, with ``staging`` to be seen inside.

    It is tried: that bubblewrap is installed proves nothing. Raises SandboxMissing with the reason.
    """
    program = shutil.which("bwrap", path=SEARCH)
    if program is None:
        raise _missing("bubblewrap is not installed", "Install the package bubblewrap.")
    view = [program, "--die-with-parent", "--new-session", "--unshare-ipc", *_view(staging)]
    complaint = ""
    for names in _LADDER:
        processes = [] if PROCESSES in names else ["--ro-bind", "/proc", "/proc"]
        namespaces = [argument for name in names for argument in _NAMESPACES[name]]
        prefix = [*view, *processes, *namespaces, "--"]
        complaint = _try(prefix)
        if not complaint:
            return Isolation(prefix=prefix, holds=[FILES, *names])
    raise _missing(
        f"bubblewrap does not work ({complaint})",
        "It needs user namespaces, which this kernel, its AppArmor or a container refuses.",
    )


def _missing(why: str, advice: str) -> SandboxMissing:
    return SandboxMissing(
        f"--isolate is not possible: {why}. {advice} Without --isolate, submissions can find out "
        "that a file exists, but not read it."
    )


def _view(staging: Path | None) -> Iterator[str]:
    """Options that show what a fork server needs, each at its own place, and nothing else."""
    yield from ("--dev", "/dev")
    shown = {path for path in code_paths().files if not path.startswith("/dev/")}
    shown |= {str(Path(__file__).parents[1]), os.path.realpath(sys.executable)}
    shown.add(f"{sys.prefix}/pyvenv.cfg")
    shown.update(_FINDING_LIBRARIES if staging is None else (*_FINDING_LIBRARIES, str(staging)))
    # A way of our own to them: even what lies under root's home is then every user's to read.
    for folder in sorted({str(above) for path in shown for above in Path(path).parents}):
        yield from ("--perms", "0755", "--dir", folder)
    for path in sorted(shown):
        yield from ("--ro-bind-try", path, path)
    if os.path.islink(sys.executable):
        yield from ("--symlink", os.path.realpath(sys.executable), sys.executable)


def _try(prefix: list[str]) -> str:
    """Why the interpreter does not start behind ``prefix``; nothing if it does."""
    try:
        done = subprocess.run(
            [*prefix, sys.executable, "-I", "-S", "-c", ""],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            timeout=SECONDS,
            env={},
            cwd="/",
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return str(error)
    said = done.stderr.decode("utf-8", "backslashreplace").strip().splitlines()
    return "" if done.returncode == 0 else (said or [f"exit status {done.returncode}"])[-1]
