"""What suites of assignments with rotary positions share: right turns, and names for wrong ones.

The pair of columns 2i and 2i + 1 turns by position x base^(-2i/width). Angles are float64, so that
what is expected is exact even at large positions.
"""

import math

import torch

from grader.suite import CheckFailure, assert_close, tolerance

BASE = 10000.0


def frequencies(width, base=BASE):
    """Angle of each pair at position 1, (D/2,)."""
    return base ** (-torch.arange(0, width, 2, dtype=torch.float64) / width)


def turn(x, positions, base=BASE):
    """``x`` (..., T, D) turned as its ``positions`` (..., T) ask for, in float64."""
    angles = positions.double()[..., None] * frequencies(x.shape[-1], base)
    return _turn_pairs(x, angles)


def assert_turned(actual, x, positions, what, *, base=BASE, tol=None):
    """``actual`` is ``turn(x, positions)``; a well-known other result is called by its name.

    The message never says more than the name, so that it can be shown for hidden checks.
    """
    expected = turn(x, positions, base)
    try:
        assert_close(actual, expected, what, tol=tol or tolerance(x.dtype))
    except CheckFailure as failure:
        words = known_mistake(actual, x, positions, base)
        if words is None:
            raise
        raise CheckFailure(words, failure.detail) from None


def known_mistake(actual, x, positions, base=BASE):
    """Words for what ``actual`` is instead of ``x`` turned, if exactly one mistake explains it."""
    if actual.shape != x.shape or x.shape[-1] < 4:
        return None
    found = [
        words
        for words, wrong in _mistakes(x.double(), positions.double()[..., None], base)
        if torch.allclose(actual.double(), wrong, rtol=1e-4, atol=3e-5)
    ]
    return found[0] if len(found) == 1 else None


def _mistakes(x, positions, base):
    """Well-known wrong results, each with what to say of it."""
    width = x.shape[-1]
    right = frequencies(width, base)
    angles = positions * right
    yield (
        "This is the half-split layout: you turn column i together with column i + width/2. Here "
        "the pairs are adjacent columns, 2i and 2i + 1.",
        _joined_halves(_turned(*x.chunk(2, dim=-1), angles)),
    )
    yield (
        "Two layouts are mixed: your pairs are column i and column i + width/2, but they are "
        "written back as adjacent columns.",
        _joined_pairs(_turned(*x.chunk(2, dim=-1), angles)),
    )
    yield (
        "Two layouts are mixed: your pairs are adjacent columns, but all their first halves are "
        "written back before all their second halves.",
        _joined_halves(_turned(x[..., 0::2], x[..., 1::2], angles)),
    )
    adjacent, halves = angles.repeat_interleave(2, dim=-1), torch.cat((angles, angles), dim=-1)
    first, second = x.chunk(2, dim=-1)
    yield (
        "Two layouts are mixed: your pairs are column i and column i + width/2, but the angles are "
        "repeated for adjacent columns.",
        x * adjacent.cos() + _joined_halves((-second, first)) * adjacent.sin(),
    )
    yield (
        "Two layouts are mixed: your pairs are adjacent columns, but the angles are repeated for "
        "column i and column i + width/2.",
        x * halves.cos() + _joined_pairs((-x[..., 1::2], x[..., 0::2])) * halves.sin(),
    )
    yield "Your vectors come back as they went in: nothing is turned.", x
    yield (
        "Your vectors are turned the other way: the angle has the wrong sign.",
        _turn_pairs(x, -angles),
    )
    yield "Sine and cosine are exchanged.", _turn_pairs(x, math.pi / 2 - angles)
    yield (
        "Your positions start at 1: the first one is 0.",
        _turn_pairs(x, angles + right),
    )
    yield "Your angles are taken for degrees.", _turn_pairs(x, angles / 180 * math.pi)
    exponents = torch.arange(width // 2, dtype=torch.float64) / width
    yield (
        "Your frequencies fall too slowly: the exponent of pair i is -2i/width.",
        _turn_pairs(x, positions * base**-exponents),
    )
    yield (
        "Your frequencies fall too fast: the exponent of pair i is -2i/width.",
        _turn_pairs(x, positions * base ** (-4 * exponents)),
    )
    yield (
        "Your frequencies grow from pair to pair: the exponent of pair i is negative, -2i/width.",
        _turn_pairs(x, positions / right),
    )
    yield (
        "Every pair of columns turns at the same speed; each has a frequency of its own.",
        _turn_pairs(x, positions.expand(*positions.shape[:-1], width // 2)),
    )


def _turn_pairs(x, angles):
    return _joined_pairs(_turned(x[..., 0::2].double(), x[..., 1::2].double(), angles))


def _turned(first, second, angles):
    cos, sin = angles.cos(), angles.sin()
    return first * cos - second * sin, first * sin + second * cos


def _joined_pairs(parts):
    return torch.stack(parts, dim=-1).flatten(-2)


def _joined_halves(parts):
    return torch.cat(parts, dim=-1)
