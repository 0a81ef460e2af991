"""The same work on many things, on every core, by forking where that can be done."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Any, TypeVar

from grader.processes import cores

T = TypeVar("T")
R = TypeVar("R")

_work: Callable[[int], Any]
"""A child's, by the number of what it is to be done on."""


def run_on_every_core(work: Callable[[T], R], things: Sequence[T]) -> list[R]:
    """``[work(thing) for thing in things]``; children share what this process has in memory.

    Raises what ``work`` raises, or RuntimeError if a child ends before it is done.
    """
    count = min(cores.available(), len(things)) if hasattr(os, "fork") else 1
    if count <= 1:
        return [work(thing) for thing in things]
    # A child has this by the fork; only numbers and results are pickled.
    with ProcessPoolExecutor(
        count,
        multiprocessing.get_context("fork"),
        initializer=_remember,
        initargs=(lambda number: work(things[number]),),
    ) as children:
        return list(children.map(_do, range(len(things))))


def _remember(work: Callable[[int], Any]) -> None:
    global _work
    _work = work


def _do(number: int) -> Any:
    return _work(number)
