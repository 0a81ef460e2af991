"""Results in the form in which they are compared: made once, compared with hundreds."""

from __future__ import annotations

import hashlib
import math
from typing import Any, TypeAlias

import msgspec
import numpy
import torch

from grader.wire.tensors import raw_bytes

EXACT = (1e-4, 1e-5)
"""Relative and absolute tolerance within which two results are the same behaviour."""

HUGE = 1e8
"""What is larger counts as infinite: -1e9 and minus infinity block alike."""

MANY = 1 << 16
"""So many numbers that they are kept only where a right answer has as many."""

_Array: TypeAlias = "numpy.ndarray[Any, numpy.dtype[Any]]"


class Numbers(msgspec.Struct):
    """The numbers of a tensor of any shape."""

    kind: tuple[torch.Size, torch.dtype, torch.device]
    values: _Array | None
    """Float64, one axis, the huge ones infinite; None on a device without numbers."""
    finite: _Array | None
    """Which of them are finite; None if all are."""
    largest: float
    """The largest finite one without its sign."""
    digest: bytes = b""
    """In the place of numbers that are too many to be kept."""

    @classmethod
    def of(cls, tensor: torch.Tensor, like: Numbers | None = None) -> Numbers:
        """The numbers of ``tensor``; those of many more than ``like`` has are not kept."""
        kind = (tensor.shape, tensor.dtype, tensor.device)
        if like is not None and kind != like.kind and tensor.numel() > MANY and not tensor.is_meta:
            found = hashlib.blake2b(raw_bytes(tensor.detach().contiguous())).digest()
            return cls(kind=kind, values=None, finite=None, largest=0.0, digest=found)
        if tensor.is_meta:
            return cls(kind=kind, values=None, finite=None, largest=0.0)
        values = tensor.detach().double().cpu().numpy().reshape(-1)
        sizes = numpy.abs(values)
        if not sizes.max(initial=0.0) <= HUGE:  # or there is one that is not a number
            values = numpy.where(sizes > HUGE, numpy.copysign(numpy.inf, values), values)
        finite = numpy.isfinite(values)
        if finite.all():
            return cls(kind=kind, values=values, finite=None, largest=sizes.max(initial=0.0))
        return cls(kind=kind, values=values, finite=finite, largest=sizes[finite].max(initial=0.0))


NOTHING = Numbers.of(torch.empty(0))


def apart(mine: Numbers, theirs: Numbers) -> float | None:
    """The largest difference between results that are the same; None if they are not."""
    if mine.kind != theirs.kind:
        return None
    if mine.digest or theirs.digest:
        return 0.0 if mine.digest == theirs.digest else None
    if mine.values is None or theirs.values is None:
        return 0.0
    values, others = mine.values, theirs.values
    if mine.finite is not None or theirs.finite is not None:
        finite = mine.finite
        if finite is None or theirs.finite is None or not numpy.array_equal(finite, theirs.finite):
            return None
        if not numpy.array_equal(values[~finite], others[~finite], equal_nan=True):
            return None
        values, others = values[finite], others[finite]
    gap = float(numpy.abs(values - others).max(initial=0.0))
    relative, absolute = EXACT
    return gap if gap <= absolute + relative * max(1.0, theirs.largest) else None


def nearness(mine: Numbers | None, theirs: Numbers | None) -> float:
    """How near two results are: 1.0 for the same, 0.0 where one is missing."""
    if mine is None or theirs is None:
        return 0.0
    if mine.kind[:2] != theirs.kind[:2]:
        return 0.25
    if apart(mine, theirs) is not None:
        return 1.0
    if mine.values is None or theirs.values is None:
        return 0.5
    with numpy.errstate(invalid="ignore"):
        gap = float(numpy.abs(mine.values - theirs.values).mean())
    return 0.5 + (0.4 / (1.0 + gap) if math.isfinite(gap) else 0.0)
