"""Finds in the installed torch whatever could attend, from its schemas and its source."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import torch

from grader.execution.families import CALLABLES, OPERATORS

_NAME = re.compile(
    r"attention|attn|(?<!f)sdpa?(?![a-z])|sfdp|(?<![a-z])mha(?![a-z])|multi_?head|transformer", re.I
)
_INPUTS = ({"query", "key", "value"}, {"q", "k", "v"})
_MEMBERS = {*OPERATORS, *(place.name for place in CALLABLES)}
_WORDS = (
    "attention",
    "attn",
    "sdp",
    "mha",
    "multi_head",
    "multihead",
    "transformer",
    "query",
    "q,",
)
"""One of these is in every file that can have something to be found."""
_START = re.compile(r"^([ \t]*)(?:(?:async )?(def|class) (\w+)|(?:if|try|else|with)\b)", re.M)
_CALL = re.compile(r"(?<!def )\b(\w+)(?:\.(?:default|apply|out))?\(")


def operators() -> set[str]:
    """Operators whose name or arguments speak of attention, whatever their namespace."""
    found = {
        schema.name
        for schema in torch._C._jit_get_all_schemas()
        if _speaks(schema.name, (argument.name for argument in schema.arguments))
    }
    found |= {
        name.split(".")[0]
        for name in torch._C._dispatch_get_all_op_names()
        if _NAME.search(name.split(".")[0])
    }
    return {name.removeprefix("aten::") for name in found}


def built_in() -> set[str]:
    """Functions without any source that a name of torch's leads to."""
    holders = (torch, torch.Tensor, torch._C, torch._C._nn, torch._C._VariableFunctions)
    return {
        name
        for holder in holders
        for name in dir(holder)
        if _NAME.search(name) and type(getattr(holder, name)).__name__.startswith("builtin")
    }


def definitions() -> set[str]:
    """Functions and classes in Python that speak of attention, take its inputs or call a member.

    As ``module:name``. The source is read and not imported: importing all of torch does too much.
    """
    root = Path(torch.__file__).parent
    found: set[str] = set()
    for path in sorted(root.rglob("*.py")):
        source = path.read_text("utf-8", "replace")
        lower = source.lower()
        if any(word in lower for word in _WORDS):
            parts = path.relative_to(root.parent).with_suffix("").parts
            module = ".".join(parts).removesuffix(".__init__")
            found |= {f"{module}:{name}" for name in _defined(source)}
    return found


def _speaks(name: str, arguments: Iterable[str]) -> bool:
    given = {argument.lower() for argument in arguments}
    return bool(_NAME.search(name)) or any(inputs <= given for inputs in _INPUTS)


def _defined(source: str) -> Iterator[str]:
    """What a file defines outside functions. From its text: parsing all of torch takes long."""
    calls_a_member = not _MEMBERS.isdisjoint(_CALL.findall(source))
    starts = list(_START.finditer(source))
    around: list[tuple[int, str, str, bool]] = []
    for number, start in enumerate(starts):
        indent, kind, name = len(start[1]), start[2], start[3]
        while around and around[-1][0] >= indent:
            around.pop()
        if kind is None:
            continue  # what ends a definition, and is none
        hidden = any(kind == "def" or found for _, kind, _, found in around)
        head = source[start.end() : source.find(":\n", start.end())]
        found = _speaks(name, re.findall(r"\w+", head) if kind == "def" else [])
        if kind == "class":
            found = found or not _MEMBERS.isdisjoint(re.findall(r"\w+", head))
        elif calls_a_member and not hidden:
            following = (later for later in starts[number + 1 :] if len(later[1]) <= indent)
            end = next((later.start() for later in following), len(source))
            found = found or not _MEMBERS.isdisjoint(_CALL.findall(source, start.end(), end))
        if found and not hidden:
            yield ".".join([*(outer for _, _, outer, _ in around), name])
        around.append((indent, kind, name, found))
