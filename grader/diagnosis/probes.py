"""Probes: calls whose results tell one misconception from another."""

from __future__ import annotations

from collections.abc import Callable
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


def observe(probe: Probe, student: Any, errors: tuple[type[Exception], ...]) -> Signature:
    """Run one probe; ``errors`` are what the student's code may end it with."""
    try:
        return Signature(results=probe(student))
    except errors as error:
        return Signature(results=None, error=_type_of(error))


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
    mine, theirs = mine.detach().double(), theirs.detach().double()
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


def _type_of(error: Exception) -> str:
    """The built-in type that an error is, so that a student's own subclass is its base."""
    for base in type(error).__mro__:
        if base.__module__ == "builtins" and base not in (Exception, BaseException, object):
            return base.__name__
    return type(error).__name__
