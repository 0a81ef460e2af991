"""torch without its compiler, which nothing here uses and which takes a second to import.

Some of torch's functions import it when they are first called, only to have it leave them alone. A
process that takes torch from here, before anything else has imported it, has them as they are.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

__all__ = ["import_the_compiler", "torch"]

_NAME = "torch._compile"
F = TypeVar("F", bound=Callable[..., Any])


def _as_it_is(function: F | None = None, recursive: bool = True) -> Any:
    """Takes the place of a decorator that keeps a function from being compiled."""
    return function if function is not None else lambda given: given


def _leave_the_compiler_out() -> None:
    """Load that decorator's module ahead of torch, and have another decorator in it."""
    found = importlib.util.find_spec("torch")
    (folder, *_) = (found and found.submodule_search_locations) or [""]
    spec = importlib.util.spec_from_file_location(_NAME, Path(folder, "_compile.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if hasattr(module, "_disable_dynamo"):
        vars(module)["_disable_dynamo"] = _as_it_is
        sys.modules[_NAME] = module


if "torch" not in sys.modules:
    with contextlib.suppress(Exception):  # a torch that is made otherwise: then with it
        _leave_the_compiler_out()

import torch  # noqa: E402

if _NAME in sys.modules:
    # The import system does that only for what it has loaded itself.
    vars(torch)["_compile"] = sys.modules[_NAME]


def import_the_compiler() -> None:
    """Import it after all, in a process that is forked often: optimisers ask for it."""
    with contextlib.suppress(Exception):
        import torch._dynamo  # noqa: F401
