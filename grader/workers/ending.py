"""How a worker's process ends, whichever way it was started."""

from __future__ import annotations

import signal
from typing import Protocol


class Process(Protocol):
    """A hold on a worker's process."""

    pid: int

    def kill(self) -> bool:
        """Kill it; False if that has been done."""
        ...

    def wait(self, seconds: float) -> None:
        """Give it that long to end of its own."""
        ...

    def reap(self) -> int:
        """Wait for it, once it was killed; returns its exit code, as ``subprocess`` has it."""
        ...

    def reap_later(self) -> None:
        """Have it reaped some time before the report is handed over: nobody asks how it ended."""
        ...


_ENDINGS = {
    "SIGSEGV": "it crashed with a segmentation fault",
    "SIGABRT": "it aborted itself",
    "SIGKILL": "it was killed, perhaps for want of memory",
    "SIGXCPU": "it used up its processor time",
}
_ACCESS_VIOLATION = 0xC0000005
"""What Windows gives as exit code for a segmentation fault."""


def how_it_ended(exit_code: int) -> str:
    """Words that students see: the numbers, which their code can choose, are not among them."""
    if exit_code == _ACCESS_VIOLATION:
        return _ENDINGS["SIGSEGV"]
    if exit_code < 0:
        names = {-number: number.name for number in signal.Signals}
        return _ENDINGS.get(names.get(exit_code, ""), "it was ended by a signal")
    return f"it left with {'exit status 0' if exit_code == 0 else 'another exit status than 0'}"
