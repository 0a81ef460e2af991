"""Whether a call gave back what its assignment declares, and what to say if it did not."""

from __future__ import annotations

from typing import Any

import torch

from grader.report.words import count
from grader.session.errors import CheckFailure, NothingReturned

_NUMBERS = {1: "one tensor", 2: "two tensors", 3: "three tensors", 4: "four tensors"}

_KINDS = {
    "ndarray": "a NumPy array",
    "list": "a list",
    "dict": "a dict",
    "generator": "a generator",
}


def check_returned(result: Any, declared: list[str], name: str) -> Any:
    """Return ``result`` as a tensor, or as a tuple of the declared tensors; raises CheckFailure.

    A list or a named tuple is as good as a tuple. Without a declaration anything passes.
    """
    if not declared:
        return result
    expected = f"{_NUMBERS[len(declared)]}, {_names(declared)}"
    failure = NothingReturned if result is None else CheckFailure
    if len(declared) == 1:
        if isinstance(result, torch.Tensor):
            return result
        raise failure(f"{name} has to return {expected}; yours returned {_describe(result)}.")
    items = _items(result)
    if items is None or len(items) != len(declared):
        raise failure(f"{name} has to return {expected}; yours returned {_describe(result)}.")
    for item, what in zip(items, declared, strict=True):
        if not isinstance(item, torch.Tensor):
            raise CheckFailure(
                f"{name} has to return {expected}; your {what} is {_describe(item)}."
            )
    return tuple(items)


def _names(declared: list[str]) -> str:
    return declared[0] if len(declared) == 1 else f"({', '.join(declared)})"


def _items(result: Any) -> list[Any] | None:
    if isinstance(result, tuple | list):
        return list(result)
    if getattr(result, "is_sequence", False) is True:
        return list(result)
    return None


def _describe(result: Any) -> str:
    """Words for a value, none of them the student's own."""
    if result is None:
        return "None (is a return statement missing?)"
    if isinstance(result, torch.Tensor):
        return "a single tensor"
    items = _items(result)
    if items is not None:
        return count(len(items), "value") if len(items) < 10 else "many values"
    if isinstance(result, bool | int | float | str | dict):
        return f"a {type(result).__name__}"
    return _KINDS.get(getattr(result, "remote_type", ""), "an object of another type")
