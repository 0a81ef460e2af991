"""The layers of a worker's confinement in their order, and what each turned out to guarantee."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import get_args

from grader.confinement import landlock, limits, namespaces, prctl, seccomp, users
from grader.confinement.readable import WRITABLE, code_paths
from grader.wire.commands import Gap, Layer, Ready, Spawn

LAYERS: tuple[Layer, ...] = get_args(Layer)

FILES = "files closed by Landlock"
TRUNCATION = "files kept from being emptied"
WRITING = "files kept from being written by seccomp"
CALLS = "system calls filtered by seccomp"
PROCESSES = "no process or thread can be started, by a limit"
USER = "a user of its own for each worker"

_ADVICE = {
    "landlock": "Grade on Linux 6.2 or later with Landlock switched on (`cat "
    "/sys/kernel/security/lsm` names it; in a container its system calls must be allowed).",
    "seccomp": "Install libseccomp (the package libseccomp2, or libseccomp) and pyseccomp.",
    "privileges": "Grade on Linux.",
    "user": "Install the interpreter and its packages where every user can read them, or start the "
    "grader as an ordinary user.",
    "memory": "Grade on Linux.",
    "parent": "Grade on Linux.",
    "limits": "Raise the hard limits of whoever starts the grader.",
}


_EVERYTHING: dict[str, Layer] = {
    "limits on memory, time, files": "memory",
    "no new privileges": "privileges",
    "memory closed to other processes": "memory",
    FILES: "landlock",
    CALLS: "seccomp",
}


def unconfined() -> Ready:
    """What a worker says that was spawned, not forked."""
    why = "this system's workers are processes like any other"
    return Ready(
        enforced=[],
        gaps=[Gap(guarantee=name, why=why, advice="Grade on Linux.") for name in _EVERYTHING],
    )


class Prepared:
    """What the fork server does once for all its workers, before any is confined."""

    def __init__(self, isolation: Sequence[str] = ()) -> None:
        self.isolation = isolation
        self.readable = code_paths()
        self.filter: seccomp.Filter | None = None
        self.no_filter = ""
        try:
            self.filter = seccomp.Filter()
        except seccomp.Unavailable as error:
            self.no_filter = str(error)
        self.unreadable = users.first_unreadable(self.readable.installed) if users.is_root() else ""


def confine(spawn: Spawn, parent: int, prepared: Prepared) -> Ready:
    """Apply every layer to this process, outermost first; returns what holds from now on."""
    if prctl.supported():
        # Without this /proc/self is not ours to write, and the fork server is not dumpable.
        prctl.set_dumpable(True)
    facts = _Facts(spawn.confinement.without)
    if not facts.is_off("limits", "limits on memory, time, files"):
        enforced, not_enforced = limits.apply(spawn.confinement)
        facts.enforced += enforced
        for limit in not_enforced:
            facts.miss("limits", limit, "the system refused it")
    facts.apply("privileges", "no new privileges", prctl.deny_new_privileges)
    if users.is_root() and not facts.is_off("user", USER, promised=False):
        _leave_root(spawn, prepared, facts)
    # A change of user would undo these two.
    facts.apply("memory", "memory closed to other processes", lambda: prctl.set_dumpable(False))
    facts.apply("parent", "end with the fork server", lambda: prctl.die_with_parent(parent))
    written = _close_files(spawn, prepared, facts)
    _filter_calls(prepared, facts, read_only=not written)
    return Ready(
        enforced=[*prepared.isolation, *facts.enforced],
        gaps=[*facts.gaps, *namespaces.gaps(prepared.isolation)],
    )


def _leave_root(spawn: Spawn, prepared: Prepared, facts: _Facts) -> None:
    """Become an unprivileged user, or else give up what root can do.

    Which files stand in the way is said to whoever can mend it, not in every report.
    """
    advice = _ADVICE["user"]
    try:
        if prepared.unreadable:
            advice += f" The first that is not readable is {prepared.unreadable}."
            raise PermissionError("the interpreter or its packages are root's alone")
        users.drop(spawn.directory)
    except OSError as error:
        gap = Gap(guarantee=USER, why=str(error), advice=advice, promised=False)
        facts.gaps.append(gap)
        facts.apply("user", "root's powers given up", users.give_up_capabilities)
    else:
        facts.enforced.append(USER)


def _close_files(spawn: Spawn, prepared: Prepared, facts: _Facts) -> bool:
    """Apply Landlock; returns whether writing needs no other layer."""
    if facts.is_off("landlock", FILES):
        return True
    readable = [*prepared.readable.files, spawn.directory]
    try:
        abi = landlock.restrict(readable, listable=prepared.readable.names, writable=WRITABLE)
    except OSError as error:
        facts.miss("landlock", FILES, str(error))
        return False
    facts.enforced.append(FILES)
    if abi >= 4:
        facts.enforced.append("TCP closed by Landlock")
    if abi >= 6:
        facts.enforced.append("signals to other processes closed by Landlock")
    return abi >= landlock.TRUNCATION_ABI


def _filter_calls(prepared: Prepared, facts: _Facts, *, read_only: bool) -> None:
    """Apply seccomp, which also stands in for what Landlock lacks where writing is concerned."""
    if not facts.is_off("seccomp", CALLS):
        try:
            if prepared.filter is None:
                raise seccomp.Unavailable(prepared.no_filter)
            prepared.filter.load(read_only=read_only)
        except OSError as error:
            facts.miss("seccomp", CALLS, str(error))
            if not users.is_root():  # whom the limit does not bind
                facts.apply("limits", PROCESSES, limits.forbid_processes)
        else:
            facts.enforced += [CALLS, WRITING] if read_only else [CALLS]
            return
    if read_only and FILES in facts.enforced:
        facts.miss("landlock", TRUNCATION, "this kernel's Landlock does not know of it")


class _Facts:
    """What is enforced and what is not, as it turns out."""

    def __init__(self, without: list[Layer]) -> None:
        self.enforced: list[str] = []
        self.gaps: list[Gap] = []
        self._without = without

    def is_off(self, layer: Layer, guarantee: str, *, promised: bool = True) -> bool:
        """Whether a layer is to be left out, which is noted."""
        if layer not in self._without:
            return False
        self.gaps.append(Gap(guarantee=guarantee, why="switched off", promised=promised))
        return True

    def apply(self, layer: Layer, guarantee: str, action: Callable[[], None]) -> None:
        """Apply a layer that gives one guarantee."""
        if self.is_off(layer, guarantee):
            return
        try:
            action()
        except (OSError, AttributeError) as error:
            self.miss(layer, guarantee, str(error))
        else:
            self.enforced.append(guarantee)

    def miss(self, layer: Layer, guarantee: str, why: str) -> None:
        """Note that a layer does not hold."""
        self.gaps.append(Gap(guarantee=guarantee, why=why, advice=_ADVICE[layer]))
