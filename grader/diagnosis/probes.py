"""Probes: calls whose results tell one misconception from another."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import torch

Results = dict[str, torch.Tensor]
Probe = Callable[[Any], Results]
"""Calls exports of the student it is given and returns what came back, by name."""


class Signature(msgspec.Struct):
    """What a module does on one probe: results, or the type of error that it raised."""

    results: Results | None
    error: str = ""


EXACT = (1e-4, 1e-5)
"""Relative and absolute tolerance within which two signatures are the same behaviour."""

HUGE = 1e8
"""What is larger counts as infinite."""


def observe(probe: Probe, student: Any, describe: Callable[[Exception], str | None]) -> Signature:
    """Run one probe; ``describe`` says what an error is, or None if it is none of the student's."""
    try:
        return Signature(results=probe(student))
    except Exception as error:
        described = describe(error)
        if described is None:
            raise
        return Signature(results=None, error=described)


def describe_error(types: Iterable[str], message: str, line: str) -> str:
    """What two errors have in common that are one behaviour.

    Of an error that a ``raise`` of the student's own made, the type; of one that a library made,
    its message too, without the numbers in it.
    """
    name = next((name for name in types if name not in ("Exception", "BaseException")), "Exception")
    if line.startswith("raise"):
        return f"{name}, raised on purpose"
    return f"{name}: {re.sub('[0-9]+', '#', message)[:120]}"


def distance(one: Signature, other: Signature) -> float | None:
    """The largest difference between two signatures of one behaviour; None if they are not one."""
    if one.results is None or other.results is None:
        same = one.results is other.results and one.error == other.error
        return 0.0 if same else None
    if one.results.keys() != other.results.keys():
        return None
    largest = 0.0
    for name, mine in one.results.items():
        apart = _apart(mine, other.results[name])
        if apart is None:
            return None
        largest = max(largest, apart)
    return largest


def _apart(mine: torch.Tensor, theirs: torch.Tensor) -> float | None:
    if mine.shape != theirs.shape or mine.dtype != theirs.dtype or mine.device != theirs.device:
        return None
    if mine.is_meta:
        return 0.0
    mine, theirs = _as_compared(mine), _as_compared(theirs)
    odd, odd_theirs = ~mine.isfinite(), ~theirs.isfinite()
    if odd.any() or odd_theirs.any():
        if not torch.equal(odd, odd_theirs):
            return None
        if not torch.equal(mine[odd].nan_to_num(nan=7.0), theirs[odd].nan_to_num(nan=7.0)):
            return None
        mine, theirs = mine[~odd], theirs[~odd]
    gap = (mine - theirs).abs()
    relative, absolute = EXACT
    scale = float(theirs.abs().max()) if theirs.numel() else 0.0
    if bool((gap > absolute + relative * max(1.0, scale)).any()):
        return None
    return float(gap.max()) if gap.numel() else 0.0


def _as_compared(tensor: torch.Tensor) -> torch.Tensor:
    """The numbers as float64, the huge ones infinite: -1e9 and minus infinity block alike."""
    values = tensor.detach().double()
    return values.masked_fill(values > HUGE, torch.inf).masked_fill(values < -HUGE, -torch.inf)
