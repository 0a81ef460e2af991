"""torch without its compiler, which nothing here uses and which takes a second to import.

Some of torch's functions import it when they are first called, only to have it leave them alone. A
process that takes torch from here, before anything else has imported it, has them as they are.
Saves about a tenth of a cold grading (benchmarks/cold_run.py).

A student's code that compiles itself is run as it is written: a compiler needs a minute, a folder
to write to and programs to run, and changes no result.
"""

from __future__ import annotations

import contextlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

__all__ = ["COMPILERS", "import_the_compiler", "leave_compiling_out", "take_skipped", "torch"]

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


COMPILERS = (
    "torch.compile",
    "torch.compiler.compile",
    "torch.jit.script",
    "torch.jit.trace",
    "torch.jit.trace_module",
    "torch.jit.freeze",
    "torch.jit.optimize_for_inference",
    "torch.nn.Module.compile",
)
"""What takes a function or a module, and gives it back compiled; the last does so in its place."""

_skipped: dict[str, None] = {}


def leave_compiling_out() -> None:
    """Have each of ``COMPILERS`` give back what it is given, in this process from now on."""
    for name in COMPILERS:
        *path, last = name.split(".")[1:]
        owner: Any = torch
        for part in path:
            owner = getattr(owner, part, None)
        if hasattr(owner, last):
            setattr(owner, last, _giving_back(name, getattr(owner, last)))


def take_skipped() -> list[str]:
    """Which of them were asked for since the last time."""
    names = list(_skipped)
    _skipped.clear()
    return names


def _giving_back(name: str, compiler: Callable[..., Any]) -> Callable[..., Any]:
    def give_back(*given: Any, **options: Any) -> Any:
        # torch compiles parts of itself, such as what jvp needs, and wants to have them compiled.
        if sys._getframe(1).f_globals.get("__name__", "").partition(".")[0] == "torch":
            return compiler(*given, **options)
        _skipped[name] = None
        named = [options[key] for key in ("model", "obj", "func", "mod") if key in options]
        (thing, *_) = (*given, *named, None)
        return thing if thing is not None else lambda decorated: decorated

    return give_back


def import_the_compiler() -> None:
    """Import it after all, in a process that is forked often: optimisers ask for it."""
    with contextlib.suppress(Exception):
        import torch._dynamo  # noqa: F401
