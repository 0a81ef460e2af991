"""Inputs of a call, changed in halves, and what the results say about how it uses them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from enum import IntEnum
from typing import Any, NamedTuple, TypeAlias

import torch

from grader.session.student.calls import RemoteObject

Numbers: TypeAlias = list[torch.Tensor]
"""What one call gives, as float64."""
Given: TypeAlias = tuple[tuple[Any, ...], dict[str, Any]]


class Halves(NamedTuple):
    """Which halves of what can be changed are changed."""

    first: bool
    second: bool


EVERY = (
    Halves(False, False),
    Halves(False, False),
    Halves(True, False),
    Halves(False, True),
    Halves(True, True),
)
"""What has to be asked to see how a call uses its inputs: twice as it is, and changed."""

CHANGES = (
    frozenset({"float"}),
    frozenset({"int"}),
    frozenset({"bool"}),
    frozenset({"float", "place"}),
    frozenset({"place"}),
)
"""What is changed: tensors by their dtype, each number in one half or the other; or the tensors of
fractions in one half, and in the other what says where they stand, which is whole numbers.

What carries meaning comes before masks, and what keeps its size before what sets sizes.
"""

ROUNDING = 1e-5
COMBINED = 1e-2
"""Of what changes, what has to be due to two changes together to be no rounding."""


SHARED = 0.2
"""Of the numbers of a result, those that are to be found in the right one too."""
ALIKE, MANY = 0.5, 16
"""How correlated two results are that rise and fall alike, where they hold so many numbers."""
MOSTLY = 0.5
"""Of what there is in the right result, what has to be there to count as right."""
LARGE = 1 << 18
"""Numbers of a result; no right one is that large, and five of them are held at once."""
LARGEST = 1e4
"""What infinities count as."""


class WorkTest(IntEnum):
    """What tells work from none, the sharpest first."""

    COMBINES = 0
    """Two changes together do something else than both of them added up."""
    MIXES = 1
    """Numbers of the result change with several of the inputs."""
    DEPENDS = 2
    """The result changes with the inputs, and not by one number everywhere."""
    VARIES = 3
    """The result is not one number everywhere, and the same each time."""


def varied(given: Given, kinds: frozenset[str], halves: Halves) -> Given:
    """The arguments and options of a call with those of ``kinds`` changed in ``halves``.

    The same call is always changed in the same way. None, fractions and objects stay.
    """
    if not any(halves):
        return given
    generator = torch.Generator().manual_seed(20_170_612)

    def change(thing: Any) -> Any:
        match thing:
            case torch.Tensor():
                return _changed(thing, kinds, halves, generator)
            case tuple() if type(thing) is tuple:
                return tuple(change(item) for item in thing)
            case bool():
                return thing
            case int() if "place" in kinds and halves.second:
                return thing + 1
        return thing

    arguments, options = given
    return tuple(map(change, arguments)), {name: change(one) for name, one in options.items()}


def _changed(
    tensor: torch.Tensor, kinds: frozenset[str], halves: Halves, generator: torch.Generator
) -> torch.Tensor:
    """``tensor`` with each of its numbers that is in one of ``halves`` changed.

    Whole numbers become others of the tensor's, and truths change places along the last axis, so
    that they stay what can be passed.
    """
    tensor = tensor.detach()
    kind = "float" if tensor.dtype.is_floating_point else "int"
    kind = "bool" if tensor.dtype is torch.bool else kind
    if tensor.is_meta or not tensor.numel() or tensor.is_complex():
        return tensor
    first = torch.rand(tensor.shape, generator=generator) < 0.5
    if "place" in kinds:
        first = torch.full(tensor.shape, kind == "float")
        kind = "place" if kind == "int" else kind
    if kind not in kinds:
        return tensor
    if kind == "float":
        spread = tensor.double().std() if tensor.numel() > 1 else torch.tensor(0.0)
        spread = spread.clamp(1e-3, 10.0) if bool(spread > 0) else torch.tensor(1.0)
        step = torch.randn(tensor.shape, generator=generator) * spread.float()
        moved = tensor + step.to(tensor.dtype)
    elif kind == "bool":
        moved = tensor.roll(1, -1)
    else:
        drawn = torch.randint(0, tensor.numel(), tensor.shape, generator=generator)
        moved = tensor.flatten()[drawn]
    return torch.where((first & halves.first) | (~first & halves.second), moved, tensor)


def numbers(result: Any, attributes: Sequence[str]) -> Iterator[torch.Tensor]:
    """The tensors of a result, also those that an object holds as one of ``attributes``."""
    match result:
        case torch.Tensor() if not result.is_meta and result.numel() <= LARGE:
            yield result.detach().double()
        case tuple() | list():
            for item in result:
                yield from numbers(item, ())
        case RemoteObject():
            if result.is_sequence:
                yield from numbers(list(result), ())
            else:
                for name in attributes:
                    yield from numbers(getattr(result, name), ())


def are_known(answers: Sequence[Numbers]) -> bool:
    """Whether there is anything but NaN in what a call gives."""
    return any(not bool(one.isnan().all()) for one in answers[0])


def is_similar(mine: Numbers, right: Numbers) -> bool:
    """Whether a result of mine holds numbers of the right one's, or rises and falls as it does.

    Of one that has another shape nobody can say: then it counts as if it did.
    """
    pairs = [(one, other) for one, other in zip(mine, right, strict=False) if other.numel() > 1]
    return not pairs or any(
        one.shape != other.shape
        or shared(one, other) >= SHARED
        or (one.numel() >= MANY and _correlation(one, other) >= ALIKE)
        for one, other in pairs
    )


def holds_right(mine: Numbers, right: Numbers, given: Numbers) -> bool:
    """Whether most of what the right result has of its own stands in a result of mine, in place.

    Its own is what is neither given nor 0 or 1.
    """
    every = torch.cat([torch.tensor([0.0, 1.0]), *(one.flatten() for one in given)]).double()
    for one, other in zip(mine, right, strict=False):
        if one.shape == other.shape and other.is_floating_point():
            own = _nearest(other, every) > 1e-4 * (1.0 + every.abs().max())
            near = (one - other).abs() <= 1e-4 * (1.0 + other.abs().max())
            if int(own.sum()) >= MANY and float(near[own].double().mean()) > MOSTLY:
                return True
    return False


def varies_as_much(mine: Numbers, right: Numbers) -> bool:
    """Whether results differ along each axis about as often as the right ones do.

    What does nothing with a position has the same in each place.
    """

    def kinds(result: torch.Tensor, axis: int) -> int:
        return len(torch.unique(result.nan_to_num(), dim=axis, sorted=False).movedim(axis, 0))

    return all(
        one.shape != other.shape
        or all(
            kinds(one, axis) > MOSTLY * kinds(other, axis)
            for axis in range(other.dim())
            if other.numel()
        )
        for one, other in zip(mine, right, strict=False)
    )


def shared(mine: torch.Tensor, others: torch.Tensor) -> float:
    """The share of the numbers of ``mine`` that are among the ``others``, wherever they stand."""
    near = 1e-4 * (1.0 + others.abs().max())
    return float((_nearest(mine, others) <= near).double().mean())


def _nearest(mine: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
    """How far each number of ``mine`` is from the nearest of the ``others``."""
    ordered = others.flatten().sort().values
    places = torch.searchsorted(ordered, mine.contiguous())
    above, below = (ordered[(places - less).clamp(0, len(ordered) - 1)] for less in (0, 1))
    return (above - mine).abs().minimum((below - mine).abs())


def _correlation(one: torch.Tensor, other: torch.Tensor) -> float:
    one, other = (x.flatten() - x.mean() for x in (one, other))
    return abs(float(one @ other / (one.norm() * other.norm())))


def measure(answers: Sequence[Numbers], test: WorkTest) -> list[float]:
    """How much of what is tested there is in each result; ``answers`` are those to EVERY.

    It is infinite where even the shape depends on the changes, and 0 where all is NaN.
    """
    return [_measure(one, test) for one in zip(*answers, strict=False)]


def _measure(answers: tuple[torch.Tensor, ...], test: WorkTest) -> float:
    if len({answer.shape for answer in answers}) > 1:
        return math.inf if answers[0].shape == answers[1].shape else 0.0
    known = ~torch.stack(answers).isnan().any(0)
    if not bool(known.any()):
        return 0.0
    plain, again, first, second, both = (
        answer[known].clamp(-LARGEST, LARGEST) for answer in answers
    )
    noise = float((plain - again).abs().max())
    rounding = ROUNDING * max(float(answer.abs().max()) for answer in (plain, both))
    change = both - plain
    match test:
        case WorkTest.COMBINES:
            together = _size(both - first - second + plain)
            changes = [_size(change), _size(first - plain), _size(second - plain)]
            least = max(COMBINED * max(changes), rounding, 10 * noise)
            return together if together > least else 0.0
        case WorkTest.MIXES | WorkTest.DEPENDS:
            spread = _size(change - change.mean())
            if test is WorkTest.MIXES:
                spread = min(spread, _size((first - plain).abs().minimum((second - plain).abs())))
            return spread if spread > max(rounding, 10 * noise) else 0.0
        case WorkTest.VARIES:
            spread = _size(plain - plain.mean())
            return spread if spread > rounding and not noise else 0.0


def _size(values: torch.Tensor) -> float:
    return float(values.square().mean().sqrt())
