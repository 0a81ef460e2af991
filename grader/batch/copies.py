"""Submissions that are identical."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")


def copies(things: Iterable[T], what: Callable[[T], tuple[str, str, str]]) -> list[list[T]]:
    """Groups of ``things`` that are copies of each other; untouched stubs do not count.

    ``what`` gives a thing's status, its assignment and the digest of its files.
    """
    same: dict[tuple[str, str], list[T]] = defaultdict(list)
    for thing in things:
        status, assignment, digest = what(thing)
        if status == "graded" and digest:
            same[assignment, digest].append(thing)
    return [alike for alike in same.values() if len(alike) > 1]
