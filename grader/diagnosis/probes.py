"""Probes: calls whose results tell one misconception from another."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec
import torch

from grader.diagnosis.numbers import NOTHING, Numbers, apart, nearness
from grader.diagnosis.torch_words import without_sizes

PROBE_SEED = 20_170_612
"""Probes always have the same inputs: they earn no points, so nothing is gained by knowing them."""

Results = dict[str, torch.Tensor]
Probe = Callable[[Any], Results]
"""Calls exports of the student it is given and returns what came back, by name."""


class Signature(msgspec.Struct):
    """What a module does on one probe: results, or an error."""

    results: dict[str, Numbers] | None
    error: str = ""
    """The kind of error that it raised: the built-in type, and whether on purpose."""
    message: str = ""
    """What a library said in it, without the numbers."""
    random: frozenset[str] = frozenset()
    """Results that another random stream changes, where a right answer's are always the same."""


def observe(
    probe: Probe,
    student: Any,
    describe: Callable[[Exception], Signature | None],
    right: Signature | None = None,
) -> Signature:
    """Run one probe; ``describe`` says what an error is, or None if it is none of the student's.

    Of results that are much larger than in ``right`` no numbers are kept.
    """
    known = (right.results if right is not None else None) or {}
    unlike = None if right is None else NOTHING
    try:
        found = probe(student)
        return Signature(
            results={name: Numbers.of(found[name], known.get(name, unlike)) for name in found}
        )
    except Exception as error:
        described = describe(error)
        if described is None:
            raise
        return described


def describe_error(types: Iterable[str], message: str, line: str) -> Signature:
    """The signature of an error of these built-in types, raised in a line of the student's."""
    name = next((name for name in types if name not in ("Exception", "BaseException")), "Exception")
    if line.startswith("raise"):
        return Signature(results=None, error=f"{name}, raised on purpose")
    return Signature(results=None, error=name, message=without_sizes(message)[:120])


def mark_random(first: Signature, second: Signature) -> Signature:
    """The first of two runs of one probe, with what differs between them marked as random."""
    if first.results is None or second.results is None:
        return first
    changed = [
        name
        for name, mine in first.results.items()
        if name not in second.results or apart(mine, second.results[name]) is None
    ]
    return msgspec.structs.replace(first, random=frozenset(changed))


def distance(one: Signature, other: Signature, *, random: bool = True) -> float | None:
    """The largest difference between two signatures of one behaviour; None if they are not one.

    Where ``random``, results that are random in both are alike whatever they are.
    """
    if one.results is None or other.results is None:
        same = one.results is other.results and one.error == other.error
        return 0.0 if same else None
    if one.results.keys() != other.results.keys():
        return None
    largest = 0.0
    for name, mine in one.results.items():
        theirs = other.results[name]
        gap = apart(mine, theirs)
        if gap is None:
            both = random and name in one.random and name in other.random
            if not both or mine.kind[:2] != theirs.kind[:2]:
                return None
            gap = 0.0
        largest = max(largest, gap)
    return largest


def is_evidence(one: Signature, other: Signature) -> bool:
    """Whether two signatures of one behaviour are alike in more than the kind of their error."""
    return one.results is not None or one.message == other.message


def agreement(one: Signature, other: Signature) -> float:
    """How near two behaviours are: 1.0 for the same, 0.0 for a result on one side only.

    Says which of two that are both different is likely to be on the way to the same.
    """
    if one.results is None or other.results is None:
        if one.results is not other.results:
            return 0.0
        return 1.0 if one.error == other.error else 0.5
    names = one.results.keys() | other.results.keys()
    if not names:
        return 1.0
    return sum(nearness(one.results.get(n), other.results.get(n)) for n in names) / len(names)
