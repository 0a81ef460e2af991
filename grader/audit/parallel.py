"""The same work on many things, on every core, by forking where that can be done."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from typing import TypeVar

from grader.processes import cores

T = TypeVar("T")
R = TypeVar("R")


def spread(work: Callable[[T], R], things: Sequence[T], *, processes: int | None = None) -> list[R]:
    """``[work(thing) for thing in things]``; children share what this process has in memory.

    Raises what ``work`` raises, or RuntimeError if a child ends before it is done.
    """
    count = min(processes or cores.available(), len(things)) if hasattr(os, "fork") else 1
    if count <= 1:
        return [work(thing) for thing in things]
    context = multiprocessing.get_context("fork")
    children = []
    for index in range(count):
        receiver, sender = context.Pipe(duplex=False)
        child = context.Process(target=_run, args=(work, things[index::count], sender))
        child.start()
        sender.close()
        children.append((child, receiver))
    results: list[R] = [None] * len(things)  # type: ignore[list-item]
    for index, (child, receiver) in enumerate(children):
        try:
            found = receiver.recv()
        except EOFError:
            raise RuntimeError("a process of the audit ended before it was done") from None
        finally:
            child.join()
        if isinstance(found, Exception):
            raise found
        results[index::count] = found
    return results


def _run(work: Callable[[T], R], things: Sequence[T], sender: Connection) -> None:
    try:
        sender.send([work(thing) for thing in things])
    except Exception as error:
        sender.send(error)
