"""The few things that torch tells by its words alone: it raises a plain RuntimeError for them.

Nothing else in the grader reads the words of an error to decide something, save ``crashes.toml``,
which explains errors to students.
"""

from __future__ import annotations

import re
from collections.abc import Collection

_NO_MEMORY = re.compile("memory|alloc", re.IGNORECASE)
"""Wide on purpose, as each allocator says it in its own way: what is taken for a lack of memory by
mistake only gets one more try."""

_OF_A_LEAF = "leaf Variable that requires grad"


def lacks_memory(types: Collection[str], message: str) -> bool:
    """Whether an error of these types, the bases included, may come from a lack of memory."""
    return any(map(_NO_MEMORY.search, types)) or bool(_NO_MEMORY.search(message))


def is_write_to_leaf(types: Collection[str], message: str) -> bool:
    """Whether a tensor was changed in place while gradients of it are asked for."""
    return "RuntimeError" in types and _OF_A_LEAF in message


def without_sizes(message: str) -> str:
    """``message`` with its numbers left out: one error on tensors of other sizes is the same."""
    return re.sub("[0-9]+", "#", message)
