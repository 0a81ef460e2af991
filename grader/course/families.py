"""The families of checks, from the cheapest to understand to the deepest.

Reports order failures so, and faults name the families that must catch them.
"""

from __future__ import annotations

FAMILIES = (
    "policy",
    "errors",
    "parameters",
    "shape",
    "dtype",
    "device",
    "numerics",
    "row-sum",
    "wrong-axis",
    "mask",
    "causal-leak",
    "scale",
    "heads",
    "positions",
    "cache",
    "dropout",
    "values",
    "gradient",
    "batch",
    "purity",
    "layout",
    "training",
)


def depth(family: str) -> int:
    """The place of ``family`` in the order; raises ValueError for one that does not exist."""
    if family not in FAMILIES:
        raise ValueError(f"there is no family {family!r}; the families are {', '.join(FAMILIES)}")
    return FAMILIES.index(family)
