"""Has something called first whenever a function written in Python is, however it is reached."""

from __future__ import annotations

import importlib.machinery
import inspect
import sys
import types
from collections.abc import Callable, Container, Iterator, Sequence
from functools import cache
from typing import Any, TypeAlias

Before: TypeAlias = Callable[[dict[str, Any]], object]
"""Takes the arguments of a call, by name as far as the function names them."""


def notice(function: types.FunctionType, before: Before) -> None:
    """Have ``before`` called ahead of ``function``.

    It is the function itself that changes, by its code: a name that was bound to it earlier, or a
    table that holds it, leads to the same one.
    """
    code = function.__code__
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    signature = signature_of(function)
    original = types.FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    original.__kwdefaults__ = function.__kwdefaults__

    def noticed(*arguments: Any, **options: Any) -> Any:
        before(dict(zip(names, arguments, strict=False)) | options)
        return original(*arguments, **options)

    function.__code__ = _stub.__code__.replace(
        # The function has to keep its closure, which the code then leaves alone.
        co_freevars=code.co_freevars,
        co_name=code.co_name,
        co_qualname=code.co_qualname,
        # So that TorchScript finds the source.
        co_filename=code.co_filename,
        co_firstlineno=code.co_firstlineno,
    )
    function.__defaults__, function.__kwdefaults__ = None, {"_noticed": noticed}
    vars(function)["__signature__"] = signature


signature_of = cache(inspect.signature)
"""A function's own signature, found before there is another."""


def _stub(*arguments: Any, _noticed: Callable[..., Any], **options: Any) -> Any:
    return _noticed(*arguments, **options)


def functions(thing: Any, methods: Container[str]) -> Iterator[types.FunctionType]:
    """A function, or those of a class that have one of these names; what they wrap included."""
    own = vars(thing).items() if isinstance(thing, type) else ()
    parts = [part for name, part in own if name in methods] if own else [thing]
    for part in parts:
        part = getattr(part, "__func__", part)
        while part is not None:
            if isinstance(part, types.FunctionType):
                yield part
            # The second is where a custom operator has its function.
            part = getattr(part, "__wrapped__", None) or getattr(part, "_init_fn", None)


class LateModules:
    """Finds modules the usual way, and does something with those of certain names once they ran."""

    def __init__(self, done: dict[str, Callable[[types.ModuleType], object]]) -> None:
        """Do what ``done`` says with each module: now, if it is there, or when it is imported."""
        self._done = done
        for name in [name for name in done if name in sys.modules]:
            done.pop(name)(sys.modules[name])
        sys.meta_path.insert(0, self)

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: types.ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if name not in self._done:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module

            def exec_module(module: types.ModuleType) -> None:
                run(module)
                self._done[name](module)

            vars(spec.loader)["exec_module"] = exec_module
        return spec
