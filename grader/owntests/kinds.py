"""Describes what tests miss, without revealing a fault's edit."""

from __future__ import annotations

from collections.abc import Iterable

UNSEEN = frozenset({"policy", "device"})
"""Families that say how code is written, or where it runs; no test sees them in values."""

WORDS = {
    "errors": "bad input that is let through, or refused with another kind of error",
    "parameters": "layers that are missing, shared, of another size or never used",
    "shape": "results of another shape, or in another order",
    "dtype": "results of another dtype than the inputs",
    "numerics": "numbers that overflow, or NaN where inputs are large",
    "row-sum": "weights that do not sum to 1 for each query",
    "wrong-axis": "a step that works along the wrong axis",
    "mask": "a mask that is ignored, read the other way round or put in the wrong place",
    "causal-leak": "a position that sees what comes after it",
    "scale": "scores that are scaled otherwise, or not at all",
    "heads": "heads that are split, shared or merged otherwise",
    "positions": "positions that are counted, ordered or encoded otherwise",
    "cache": "a cache whose content or length is not what it has to be",
    "dropout": "dropout that acts at the wrong time, on the wrong thing, or not at all",
    "values": "results of the right shape that hold the wrong numbers",
    "gradient": "gradients that do not arrive, or are wrong",
    "batch": "examples of a batch that influence each other",
    "purity": "inputs that are written to, or a call that changes the next",
    "layout": "inputs that lie in memory in an unusual order",
    "training": "a model that trains worse, or better, than it can",
}


def kind_of(families: Iterable[str]) -> str | None:
    """The family that a fault is counted under: its first that tests can see; None without one."""
    return next((family for family in families if family not in UNSEEN), None)
