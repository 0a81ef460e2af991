"""Notices that something forbidden runs, however the source spells it.

It lives in the student's own process, which can look for it and take it down, so that it deters
and proves nothing. What is not forbidden costs nothing more than before.
"""

from __future__ import annotations

import contextlib
import sys
import types
from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import torch

from grader.execution import families
from grader.execution.families import METHODS, Definition, FamilyMember
from grader.worker.noticing import LateModules, functions, notice, signature_of

_COMPOSITE_KEYS = (
    "AutogradCPU",
    "CPU",
    "AutogradMeta",
    "AutogradNestedTensor",
    "NestedTensorCPU",
    "FuncTorchDynamicLayerFrontMode",
)
"""Where calls of an operator that is made of others come to the dispatcher.

The keys without autograd are those of inference mode; the last is any transform of ``torch.func``,
under which a call reaches none of the others.
"""
_CONCRETE_KEY = "BackendSelect"
"""What every call of an operator with kernels of its own passes, below transforms and autograd."""

Arguments = dict[str, Any]


class Tripwire:
    """Watches for dotted names of torch, with their families, and for options as ``enable_gqa=``.

    An option counts in a call of whatever attends; so does a call that shares heads without it.
    """

    def __init__(self, forbidden: list[str]) -> None:
        self._forbidden = forbidden
        self._options = [entry for entry in forbidden if entry.endswith("=")]
        self._tripped: dict[str, str] = {}
        self._library: Any = None
        """Kernels are there only as long as it is."""
        self._functions: dict[types.FunctionType, FamilyMember] = {}
        for entry in forbidden:
            if entry not in self._options and families.member(entry) is None:
                self._watch_other(entry)
        operators = [name for name in families.OPERATORS if self._concerns(families.operator(name))]
        for name in operators:
            self._watch_operator(name, partial(self._called, families.operator(name)))
        definitions: dict[str, list[Definition]] = defaultdict(list)
        for definition in families.CALLABLES:
            if self._concerns(families.function(definition)):
                definitions[definition.module].append(definition)
        if definitions:
            self._watch_ways_around(set(operators))
            LateModules(
                {module: partial(self._watch_definitions, of) for module, of in definitions.items()}
            )

    def take(self) -> dict[str, str]:
        """What has run since the last time: the assignment's entry, and what it was."""
        tripped = dict(self._tripped)
        self._tripped.clear()
        return tripped

    # -- what was called ----------------------------------------------------------------------

    def _concerns(self, member: FamilyMember) -> bool:
        return bool(self._options) or families.forbidding(member, self._forbidden) is not None

    def _called(self, member: FamilyMember, arguments: Arguments) -> None:
        """Note a call of a member, if it or its options are forbidden."""
        entry = families.forbidding(member, self._forbidden)
        if entry is not None:
            self._tripped.setdefault(entry, member.name)
        for option in self._options:
            if _is_truthy(arguments.get(option.removesuffix("="))):
                self._tripped.setdefault(option, option)
            elif option == "enable_gqa=" and _shares_heads(member, arguments):
                self._tripped.setdefault(option, member.name)

    def _noted(self, entry: str, arguments: Arguments) -> None:
        self._tripped.setdefault(entry, entry)

    # -- operators ----------------------------------------------------------------------------

    def _watch_operator(self, name: str, before: Callable[[Arguments], object]) -> None:
        """Put kernels before torch's own, which catch calls from wherever they come."""
        if self._library is None:
            self._library = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
        for operator, names, composite in _overloads(name):
            by_key = operator._op_dk
            operator._op_dk = partial(_by_key, by_key, before)
            if composite:
                kernel = partial(_composite, by_key, names, before)
                for key in _COMPOSITE_KEYS:
                    with contextlib.suppress(RuntimeError):  # a torch that has no such key
                        self._library.impl(operator, kernel, key)
            else:
                kernel = partial(_concrete, operator, names, before)
                self._library.impl(operator, kernel, _CONCRETE_KEY, with_keyset=True)

    # -- functions and classes ----------------------------------------------------------------

    def _watch_definitions(self, definitions: list[Definition], module: types.ModuleType) -> None:
        for definition in definitions:
            member = families.function(definition)
            for function in _functions_at(definition, module):
                if function not in self._functions:
                    self._functions[function] = member
                    notice(function, partial(self._called, member))

    def _watch_ways_around(self, operators: set[str]) -> None:
        """Watch what runs a member's parts, and never the member itself."""

        def taken_apart(arguments: Arguments) -> None:
            name = getattr(arguments.get("self"), "_opname", None)
            if name in operators:
                self._called(families.operator(name), {})

        def scripted(arguments: Arguments) -> None:
            function = getattr(arguments.get("fn"), "__func__", arguments.get("fn"))
            if isinstance(function, types.FunctionType) and function in self._functions:
                self._called(self._functions[function], {})

        for function in (torch._ops.OpOverload.decompose, torch._ops.OpOverload.redispatch):
            for part in functions(function, METHODS):
                notice(part, taken_apart)
        for part in functions(torch.jit.frontend.get_jit_def, METHODS):
            notice(part, scripted)

    def _watch_other(self, entry: str) -> None:
        """Watch what belongs to no family: by itself, and as the operator it may be."""
        owner, last = _owner(entry)
        thing = getattr(owner, last, None)
        before = partial(self._noted, entry)
        operator = getattr(getattr(torch.ops.aten, last, None), "default", None)
        if isinstance(thing, type | types.FunctionType):
            for function in functions(thing, METHODS):
                notice(function, before)
        elif operator is not None and _is_composite(operator):
            self._watch_operator(last, before)
        elif callable(thing):
            setattr(owner, last, _wrapped(thing, before))


def prepare() -> None:
    """Look up what is the same in every process, in one from which many are forked."""
    for name in families.OPERATORS:
        _overloads(name)
    for definition in families.CALLABLES:
        for function in _functions_at(definition, sys.modules.get(definition.module)):
            signature_of(function)


@cache
def _overloads(name: str) -> list[tuple[Any, list[str], bool]]:
    """An operator's overloads, if it exists: each with its arguments, and if others make it up."""
    packet = getattr(torch.ops.aten, name, None)
    found = [getattr(packet, overload) for overload in packet.overloads()] if packet else []
    return [
        (
            operator,
            [argument.name for argument in operator._schema.arguments],
            _is_composite(operator),
        )
        for operator in found
    ]


def _functions_at(
    definition: Definition, module: types.ModuleType | None
) -> Iterator[types.FunctionType]:
    thing: Any = module
    for part in definition.name.split("."):
        thing = getattr(thing, part, None)
    return functions(thing, METHODS)


def _by_key(
    call: Callable[..., Any],
    before: Callable[[Arguments], object],
    *arguments: Any,
    **options: Any,
) -> Any:
    before(options)
    return call(*arguments, **options)


def _composite(
    by_key: Callable[..., Any],
    names: list[str],
    before: Callable[[Arguments], object],
    *arguments: Any,
    **options: Any,
) -> Any:
    before(dict(zip(names, arguments, strict=False)) | options)
    return by_key(torch._C.DispatchKey.CompositeImplicitAutograd, *arguments, **options)


def _concrete(
    operator: Any,
    names: list[str],
    before: Callable[[Arguments], object],
    keys: Any,
    *arguments: Any,
    **options: Any,
) -> Any:
    before(dict(zip(names, arguments, strict=False)) | options)
    below = torch._C._dispatch_keyset_full_after(torch._C.DispatchKey.BackendSelect)
    return operator.redispatch(keys & below, *arguments, **options)


def _wrapped(function: Callable[..., Any], before: Callable[[Arguments], object]) -> Any:
    def noticed(*arguments: Any, **options: Any) -> Any:
        before({})
        return function(*arguments, **options)

    return noticed


def _owner(name: str) -> tuple[Any, str]:
    """The torch object that holds the last part of a dotted name, or None, and that part."""
    first, *path = name.split(".")
    owner: Any = torch if first == "torch" else None
    for part in path[:-1]:
        owner = getattr(owner, part, None)
    return owner, path[-1] if path else ""


def _is_composite(operator: Any) -> bool:
    """Whether an operator's overload is made of others."""
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    try:
        return bool(operator.has_kernel_for_dispatch_key(key))
    except RuntimeError:  # TorchScript's own operators
        return False


def _is_truthy(value: Any) -> bool:
    return isinstance(value, bool | int) and bool(value)


def _shares_heads(member: FamilyMember, arguments: Arguments) -> bool:
    """Whether a call has fewer heads of keys than of queries, and more than what broadcasts."""
    numbers = [arguments.get(name) for name in ("q_num_heads", "kv_num_heads")]
    tensors = [
        next((arguments[name] for name in names if name in arguments), None)
        for names in (("query", "q", "Q"), ("key", "k", "K"))
    ]
    if all(isinstance(tensor, torch.Tensor) and tensor.dim() == 4 for tensor in tensors):
        numbers = [tensor.shape[1] for tensor in tensors]  # type: ignore[union-attr]
    return None not in numbers and numbers[0] != numbers[1] and numbers[1] != 1
