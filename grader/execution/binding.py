"""How a call that an assignment declares meets the signature that a student wrote.

Declared arguments are passed by position and declared options by name. Where the student's names
differ, an option goes by its declared position; where a parameter takes keywords only, an argument
goes by name.
"""

from __future__ import annotations

import functools
import inspect
import types
from collections.abc import Callable
from typing import Any

from grader.wire.messages import CallSignature

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


class CannotBind(Exception):
    """The student's callable cannot be called as declared; the text shows both sides."""


def bind(
    function: Callable[..., Any],
    declared: CallSignature | None,
    arguments: list[Any],
    options: dict[str, Any],
) -> tuple[list[Any], dict[str, Any]]:
    """Return what to call ``function`` with; raises CannotBind.

    Without a declaration, or where Python cannot tell the signature, nothing is changed.
    """
    if declared is None:
        return arguments, options
    try:
        signature = _signature(function)
    except (ValueError, TypeError):
        return arguments, options
    parameters = signature.parameters
    positional = [p for p in parameters.values() if p.kind in _POSITIONAL]
    takes_keywords = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    takes_positions = any(p.kind is p.VAR_POSITIONAL for p in parameters.values())
    named = {p.name for p in parameters.values() if p.kind in (_POSITIONAL[1], p.KEYWORD_ONLY)}

    by_position = list(arguments)
    by_name: dict[str, Any] = {}
    if len(arguments) > len(positional) and not takes_positions:
        kept = len(positional)
        surplus = dict(zip(declared.arguments[kept:], arguments[kept:], strict=False))
        if takes_keywords or named.issuperset(surplus):
            by_position, by_name = by_position[:kept], surplus
    filled = {p.name for p in positional[: len(by_position)]}
    order = [*declared.arguments, *declared.options]
    places: dict[int, str] = {}
    for name in options:
        index = order.index(name) if name in order else -1
        fits = 0 <= index < len(positional) or (index >= 0 and takes_positions)
        if (name in named - filled) or (takes_keywords and name not in named) or not fits:
            by_name[name] = options[name]
        else:
            places[index] = name
    while places:
        index = len(by_position)
        parameter = positional[index] if index < len(positional) else None
        if index in places:
            by_position.append(options[places.pop(index)])
        elif parameter is not None and parameter.default is not parameter.empty:
            by_position.append(by_name.pop(parameter.name, parameter.default))
        else:  # nothing can be passed here, so what comes later cannot go by position
            by_name |= {name: options[name] for name in places.values()}
            places.clear()
    try:
        signature.bind(*by_position, **by_name)
    except TypeError as error:
        raise CannotBind(_explain(function, signature, declared, str(error))) from None
    return by_position, by_name


def _signature(function: Callable[..., Any]) -> inspect.Signature:
    """The signature of ``function``; raises ValueError or TypeError."""
    # Only what is hashed by identity: other callables may be of a student's class.
    return (_kept if isinstance(function, types.FunctionType) else inspect.signature)(function)


_kept = functools.lru_cache(maxsize=64)(inspect.signature)


def _explain(
    function: Callable[..., Any],
    signature: inspect.Signature,
    declared: CallSignature,
    problem: str,
) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    nothing = inspect.Parameter.empty
    bare = [p.replace(annotation=nothing, default=nothing) for p in signature.parameters.values()]
    yours = signature.replace(parameters=bare, return_annotation=nothing)
    wanted = ", ".join([*declared.arguments, *(f"{option}=..." for option in declared.options)])
    return f"it is declared as {name}{yours} but has to accept ({wanted}): {problem}"
