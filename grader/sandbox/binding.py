"""How a call that an assignment declares meets the signature that a student wrote.

Declared arguments are passed by position and declared options by name. Where the student's names
differ, an option goes by its declared position; where a parameter takes keywords only, an argument
goes by name.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from grader.sandbox.messages import CallSignature

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
        signature = inspect.signature(function)
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
        for name, value in zip(declared.arguments[kept:], arguments[kept:], strict=False):
            if name in named or takes_keywords:
                by_name[name] = value
        if len(by_name) == len(arguments) - kept:
            by_position = by_position[:kept]
        else:
            by_name = {}
    order = [*declared.arguments, *declared.options]
    unplaced: dict[int, Any] = {}
    for name, value in options.items():
        index = order.index(name) if name in order else -1
        taken = index >= 0 and name in named and _position(positional, name) < len(by_position)
        if (name in named and not taken) or (takes_keywords and name not in named):
            by_name[name] = value
        elif 0 <= index < len(positional) or (index >= 0 and takes_positions):
            unplaced[index] = value
        else:
            by_name[name] = value
    for index in range(len(by_position), max(unplaced, default=-1) + 1):
        if index in unplaced:
            by_position.append(unplaced[index])
            continue
        parameter = positional[index] if index < len(positional) else None
        if parameter is None or parameter.default is parameter.empty:
            break
        by_position.append(by_name.pop(parameter.name, parameter.default))
    try:
        signature.bind(*by_position, **by_name)
    except TypeError as error:
        raise CannotBind(_explain(function, signature, declared, str(error))) from None
    return by_position, by_name


def _position(positional: list[inspect.Parameter], name: str) -> int:
    return next((i for i, p in enumerate(positional) if p.name == name), len(positional))


def _explain(
    function: Callable[..., Any],
    signature: inspect.Signature,
    declared: CallSignature,
    problem: str,
) -> str:
    name = getattr(function, "__name__", type(function).__name__)
    yours = ", ".join(
        str(p).split(":")[0].split("=")[0].strip() for p in signature.parameters.values()
    )
    wanted = ", ".join([*declared.arguments, *(f"{option}=..." for option in declared.options)])
    return f"it is declared as {name}({yours}) but has to accept ({wanted}): {problem}"
