"""Notices that something forbidden runs, however the source spells it.

It lives in the student's own process, which can look for it and take it down, so that it deters
and proves nothing. What is not forbidden costs nothing more than before.
"""

from __future__ import annotations

import functools
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import torch

_KEYS = ("AutogradCPU", "CPU")
"""Where tensors on the CPU enter the dispatcher: the second is for those of inference mode."""
_WITH_OPTIONS = "scaled_dot_product_attention"
"""The operator whose options an assignment can forbid."""


class Tripwire:
    """Watches for dotted names of torch and, as ``enable_gqa=``, for options of attention."""

    def __init__(self, forbidden: list[str]) -> None:
        self._tripped: dict[str, None] = {}
        self._library: Any = None
        """Kernels are there only as long as it is."""
        operators: dict[str, list[str]] = defaultdict(list)
        for name in forbidden:
            owner, last = _owner(name)
            thing = getattr(owner, last, None)
            if name.endswith("="):
                operators[_WITH_OPTIONS].append(name)
            elif isinstance(thing, type):
                self._watch_attribute(thing, "__init__", name)
            elif _composite(last) is not None:
                operators[last].append(name)
                operators[f"_{last}_math"].append(name)
            elif callable(thing):
                self._watch_attribute(owner, last, name)
        for operator, names in operators.items():
            self._watch_operator(operator, names)

    def take(self) -> list[str]:
        """What has run since the last time, as the assignment names it."""
        names = list(self._tripped)
        self._tripped.clear()
        return names

    def _watch_attribute(self, owner: Any, attribute: str, name: str) -> None:
        watched: Callable[..., Any] = getattr(owner, attribute)

        @functools.wraps(watched)
        def noticed(*arguments: Any, **options: Any) -> Any:
            self._tripped[name] = None
            return watched(*arguments, **options)

        setattr(owner, attribute, noticed)

    def _watch_operator(self, operator: str, names: list[str]) -> None:
        """Put a kernel before torch's own, which catches calls from wherever they come."""
        overload = _composite(operator)
        if overload is None:
            return

        def noticed(*arguments: Any, **options: Any) -> Any:
            for name in names:
                if not name.endswith("=") or options.get(name.removesuffix("=")):
                    self._tripped[name] = None
            return overload._op_dk(
                torch._C.DispatchKey.CompositeImplicitAutograd, *arguments, **options
            )

        if self._library is None:
            self._library = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
        for key in _KEYS:
            self._library.impl(operator, noticed, key)


def _owner(name: str) -> tuple[Any, str]:
    """The torch object that holds the last part of a dotted name, or None, and that part."""
    first, *path = name.split(".")
    owner: Any = torch if first == "torch" else None
    for part in path[:-1]:
        owner = getattr(owner, part, None)
    return owner, path[-1] if path else ""


def _composite(operator: str) -> Any:
    """The operator's overload, if it has but one, and is made of others; else None."""
    overload = getattr(getattr(torch.ops.aten, operator, None), "default", None)
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    try:
        found = overload is not None and overload.has_kernel_for_dispatch_key(key)
    except RuntimeError:  # TorchScript's own operators
        return None
    return overload if found else None
