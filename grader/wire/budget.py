"""What a worker may make the trusted side hold: all the numbers, and the count that keeps to them.

The worker refuses what is too large before it is sent, so that a student reads which of theirs it
is. The trusted side refuses the same once more, before it takes memory for it, since a worker can
be made to send anything; and it counts what it holds, which only it knows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from grader.wire.errors import OverBudget, ProtocolError
from grader.wire.messages import TensorSpec

# One frame

MAX_MESSAGE = 1 << 20
"""Bytes of a message: names, texts, lists, shapes. In memory that becomes ten times as much."""
MAX_BLOB = 64 << 20
"""Bytes of the tensors of a frame, in either direction."""
MAX_MESSAGE_TEXT = 4000
"""Of what an exception says."""
MAX_TENSORS = 4096
MAX_DIMS = 8
MAX_NUMEL = 2**40
"""Of a shape; more than memory holds, and far from where torch's own arithmetic overflows."""

# One reply

REPLY_NUMBERS = 4 << 20
"""Numbers in the tensors of a reply. A byte of theirs can be eight of ours: what is compared is
compared in double precision."""

# One module

MODULE_NAMES = 8192
"""Parameters, buffers and submodules, and every part of a name that makes a submodule."""
NAME_CHARACTERS = 512
"""Of a dotted name."""
NAME_BYTES = 4096
"""What is held here for each of these names, at the most."""

# One check

CHECK_MESSAGES = 8 << 20
"""Bytes of the messages that answer one check."""

# One session

HELD_BYTES = 192 << 20
"""Bytes held at once of what workers sent, every number counted as eight bytes at least."""
TENSOR_BYTES = 1024
"""What a tensor takes whatever it holds."""
SESSION_BYTES = 640 << 20
"""Address space that a forked session may take beyond what it starts with: the last line."""


def cost(spec: TensorSpec) -> int:
    """What a tensor counts for, in bytes."""
    if not spec.size:
        return TENSOR_BYTES
    return TENSOR_BYTES + max(spec.size, 8 * _numbers(spec))


def _numbers(spec: TensorSpec) -> int:
    return max(0, math.prod(spec.shape)) if spec.size else 0


class Budget:
    """Counts what one session holds of what its workers sent."""

    def __init__(self) -> None:
        self.held = 0
        """Bytes of all that is still used."""
        self._told = 0

    def begin_check(self) -> None:
        """Count messages anew."""
        self._told = 0

    def admit(self, message: int, tensors: Sequence[TensorSpec]) -> None:
        """Let in a reply whose message has so many bytes, before its tensors are read.

        Raises ProtocolError for what no worker would send by itself, OverBudget for what is too
        much together with what is held already.
        """
        if any(len(spec.shape) > MAX_DIMS or spec.size < 0 for spec in tensors):
            raise ProtocolError("it sent a malformed tensor")
        if len(tensors) > MAX_TENSORS or sum(map(_numbers, tensors)) > REPLY_NUMBERS:
            raise ProtocolError("it sent more numbers than are accepted")
        self._told += message
        if self._told > CHECK_MESSAGES:
            raise OverBudget(
                "what your code answered in one check holds more names, texts and lists than the "
                f"grader takes, which is {CHECK_MESSAGES >> 20} MiB"
            )
        self._refuse(sum(map(cost, tensors)))

    def hold(self, size: int) -> Held:
        """Count ``size`` bytes for as long as what this returns is there; raises OverBudget."""
        self._refuse(size)
        return Held(self, size)

    def _refuse(self, size: int) -> None:
        if self.held + size > HELD_BYTES:
            raise OverBudget(
                "all that it returned and that is still compared holds more numbers than the "
                f"grader takes at once, which is {HELD_BYTES >> 23} million"
            )


class Held(bytearray):
    """Something counted; or the memory of a tensor, which is counted as long as that is used."""

    __slots__ = ("_budget", "_size")

    def __init__(self, budget: Budget, size: int, data: memoryview | bytes = b"") -> None:
        super().__init__(data)
        self._budget, self._size = budget, size
        budget.held += size

    def __del__(self) -> None:
        self._budget.held -= self._size
