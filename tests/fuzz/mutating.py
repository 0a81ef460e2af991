"""Inputs that were right once: values, bytes and texts, changed a little and at random.

The tests here are the same in every run. ``GRADE_FUZZ=N`` in the environment makes each of them
try N inputs, others every time.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from random import Random
from typing import Any

from hypothesis import HealthCheck, settings

N = int(os.environ.get("GRADE_FUZZ", "0"))


def fuzzed(examples: int) -> Callable[[Any], Any]:
    """Tries so many inputs, or as many as the environment says."""
    return settings(
        max_examples=N or examples,
        derandomize=not N,
        database=None,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
        print_blob=True,
    )


SCALARS = [
    *(None, True, False, 0, 1, -1, 2, 255, 2**31, 2**63 - 1, -(2**63), 2**64 - 1),
    *(0.5, -1e300, float("inf"), float("nan"), "", "x", "is", "float32", "\0", "../..", "a" * 300),
    *("\x1b[2J", "::error::", "__class__", "W.weight", b"", b"\xff\x00", [], {}, [[]], {"is": 1}),
]


def value(random: Random, thing: Any, changes: int) -> Any:
    """``thing``, made of lists and dictionaries, with some of its parts replaced."""
    for _ in range(changes):
        thing = _changed(random, thing)
    return thing


def _changed(random: Random, thing: Any) -> Any:
    if not isinstance(thing, list | dict) or not thing or random.random() < 0.05:
        return random.choice(SCALARS)
    keys = list(thing) if isinstance(thing, dict) else list(range(len(thing)))
    key = random.choice(keys)
    copy: Any = dict(thing) if isinstance(thing, dict) else list(thing)
    match random.randrange(8):
        case 0:
            del copy[key]
        case 1 if isinstance(copy, dict):
            copy[str(random.choice(SCALARS))] = random.choice(SCALARS)
        case 1:
            copy = copy * 2
        case 2:
            copy[key] = copy[random.choice(keys)]
        case 3:
            copy[key] = random.choice(SCALARS)
        case _:
            copy[key] = _changed(random, copy[key])
    return copy


def data(random: Random, thing: bytes, changes: int) -> bytes:
    """``thing`` with some bytes set, cut out, put in or repeated."""
    changed = bytearray(thing)
    for _ in range(changes):
        place = random.randrange(len(changed) + 1)
        match random.randrange(6):
            case 0:
                del changed[place : place + random.choice((1, 4, 50))]
            case 1:
                changed[place:place] = random.randbytes(random.choice((1, 2, 4)))
            case 2:
                end = place + random.choice((2, 4, 60))
                changed[place:place] = changed[place:end]
            case 3:
                changed[place : place + 4] = random.choice((0, 1, 2**31, 2**32 - 1)).to_bytes(
                    4, "little"
                )
            case _:
                changed[place : place + 1] = random.randbytes(1)
    return bytes(changed)


def lines(random: Random, text: str, others: list[str], changes: int) -> str:
    """``text`` with some lines left out, doubled, exchanged or replaced by one of ``others``."""
    changed = text.split("\n")
    for _ in range(changes):
        place, other = random.randrange(len(changed)), random.randrange(len(changed))
        match random.randrange(5):
            case 0 if len(changed) > 1:
                del changed[place]
            case 1:
                changed.insert(place, changed[other])
            case 2:
                changed[place], changed[other] = changed[other], changed[place]
            case _:
                changed.insert(place, random.choice(others))
    return "\n".join(changed)
