"""Finding in source what an assignment forbids; ``tripwire`` notices it when it runs."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import TypeGuard

from grader.execution import families
from grader.execution.loading import imported_part
from grader.wire.messages import ForbiddenUse

MAX_NAME = 300
"""Characters of a dotted name or a string that could be part of one; longer ones are neither."""

MAX_CHAIN = 12
"""Aliases of aliases that are followed."""


def find_forbidden(source: str, forbidden: list[str]) -> list[ForbiddenUse]:
    """Uses of ``forbidden`` dotted names in ``source``, which is parsed and not run.

    With a name its family is forbidden: whatever else in torch does its job. Follows imports,
    aliases and look-ups by a constant name, such as with ``getattr``. Names that merely look alike,
    docstrings and comments do not count, nor does what runs only as ``__main__``. An entry that
    ends in ``=``, such as ``enable_gqa=``, means an option of that name that is passed, and not as
    False, to what is not the file's own. Raises what the parser raises.
    """
    tree = ast.parse(source)
    tree.body = [part for statement in tree.body for part in imported_part(statement)]
    lines = source.splitlines()
    names = _Names(tree, forbidden)
    found: dict[int, ForbiddenUse] = {}
    harmless = {node.value for node in names.nodes if names.takes_a_part(node)}
    for node in names.nodes:
        dotted = names.resolve(node) if isinstance(node, ast.expr) else None
        if node in harmless:
            continue
        match, by = _match(dotted, forbidden) if dotted is not None else (None, "")
        line = getattr(node, "lineno", 0)
        for option, place in names.passed_options(node):
            if f"{option}=" in forbidden:
                match, by, line = f"{option}=", "", place
        if match is not None and line not in found:
            text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
            found[line] = ForbiddenUse(name=match, by=by, line=line, text=text[:200])
    return [found[line] for line in sorted(found)]


def _match(dotted: str, forbidden: list[str]) -> tuple[str | None, str]:
    """The entry that forbids a dotted name; and what that is, where it is another of its family."""
    for name in forbidden:
        if _same(dotted, name):
            return name, ""
    member = families.member(dotted)
    entry = families.forbidding(member, forbidden) if member is not None else None
    return entry, member.name if member is not None and member.name != entry else ""


def _same(dotted: str, forbidden: str) -> bool:
    """Whether two dotted names mean one torch object, however it was reached."""
    if dotted.startswith("torch.ops.aten."):
        dotted = "torch._C._nn." + dotted.split(".")[3]
    for private, public in (
        ("torch._C._nn.", "torch.nn.functional."),
        ("torch.nn.modules.activation.", "torch.nn."),
        ("torch.nn.modules.", "torch.nn."),
    ):
        if dotted.startswith(private):
            dotted = public + dotted.removeprefix(private)
            break
    return dotted == forbidden


def _assigned(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """Names that a node binds to an expression, each with it."""
    match node:
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                match target, value:
                    case ast.Name(id=name), _:
                        yield name, value
                    case ast.Tuple(elts=names), ast.Tuple(elts=values):
                        for part, entry in zip(names, values, strict=False):
                            if isinstance(part, ast.Name):
                                yield part.id, entry
        case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
            yield name, value
        case ast.NamedExpr(target=ast.Name(id=name), value=value):
            yield name, value


class _Names:
    """What the names of a file stand for, as dotted names of the library."""

    def __init__(self, tree: ast.Module, forbidden: list[str]) -> None:
        self.nodes = list(ast.walk(tree))
        self._texts: dict[ast.AST, str | None] = {}
        self._known: dict[ast.AST, str | None] = {}
        for node in reversed(self.nodes):  # what a node is made of comes before it
            self._texts[node] = self._joined(node)
        self._forbidden = forbidden
        self._bound = self._imports(tree)
        functions = [
            node for node in self.nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        self._own = {node.name for node in self.nodes if isinstance(node, ast.ClassDef)}
        self._own |= {function.name for function in functions}
        for name in self._own:
            self._bound.pop(name, None)
        # Inside a function, its own imports come before the file's definitions.
        self._local: dict[ast.AST, dict[str, str]] = {}
        for function in functions:
            if imports := self._imports(function):
                for node in ast.walk(function):
                    self._local[node] = self._local.get(node, {}) | imports
        # An alias may be assigned after the function that uses it, and aliases may chain.
        assigned = [pair for node in self.nodes for pair in _assigned(node)]
        for _ in range(MAX_CHAIN):
            self._resolve_all()
            before = dict(self._bound)
            for name, value in assigned:
                dotted = self.resolve(value)
                if dotted is not None and dotted.split(".")[0] == "torch":
                    self._bound[name] = dotted
            if self._bound == before:
                break

    def passed_options(self, node: ast.AST) -> Iterator[tuple[str, int]]:
        """Options passed here by name, or put into a dictionary to be passed, with their lines."""
        pairs: list[tuple[ast.expr | None, ast.expr]] = []
        match node:
            case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name)) if (
                name in self._own and self.resolve(node.func) is None
            ):
                return
            case ast.Call():
                pairs = [(ast.Constant(word.arg), word.value) for word in node.keywords]
            case ast.Dict():
                pairs = list(zip(node.keys, node.values, strict=True))
            case ast.Assign(targets=[ast.Subscript(slice=place)]):
                pairs = [(place, node.value)]
        for key, value in pairs:
            is_off = isinstance(value, ast.Constant) and value.value is False
            if isinstance(key, ast.Constant) and isinstance(key.value, str) and not is_off:
                yield key.value, value.lineno

    def _imports(self, tree: ast.AST) -> dict[str, str]:
        bound: dict[str, str] = {}
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name if alias.asname else alias.name.split(".")[0]
                    bound[alias.asname or top] = top
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    if alias.name == "*":
                        bound |= self._starred(node.module)
                    else:
                        bound[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        return bound

    def _starred(self, module: str) -> dict[str, str]:
        """What is of interest among the names that ``from module import *`` binds."""
        names = [*self._forbidden, *families.names()]
        paths = [
            name.removeprefix(f"{module}.").split(".")[0]
            for name in names
            if name.startswith(f"{module}.")
        ]
        return {path: f"{module}.{path}" for path in paths}

    def takes_a_part(self, node: ast.AST) -> TypeGuard[ast.Attribute]:
        """Whether this is what belongs to a class, and does not do the class's job."""
        if not isinstance(node, ast.Attribute):
            return False
        whole, part = self.resolve(node.value) or "", self.resolve(node) or ""
        return families.member(whole) is not None and families.member(part) is None

    def _resolve_all(self) -> None:
        """Resolve each expression once, after what it is made of: that may be thousands deep."""
        self._known.clear()
        for node in reversed(self.nodes):
            if isinstance(node, ast.expr):
                dotted = self._resolve(node)
                self._known[node] = dotted if dotted and len(dotted) <= MAX_NAME else None

    def resolve(self, node: ast.expr) -> str | None:
        """The dotted name of the library that an expression means, if it means one."""
        return self._known.get(node)

    def _resolve(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name):
            return self._local.get(node, self._bound).get(node.id, self._bound.get(node.id))
        if isinstance(node, ast.Attribute):
            inner = self.resolve(node.value)
            return None if inner is None else f"{inner}.{node.attr}"
        if isinstance(node, ast.NamedExpr):
            return self.resolve(node.value)
        if isinstance(node, ast.Subscript):
            return self._entry(node.value, node.slice)
        if isinstance(node, ast.Call):
            return self._resolve_call(node.func, node.args)
        return None

    def _resolve_call(self, function: ast.expr, arguments: list[ast.expr]) -> str | None:
        called = self._called(function)
        text = self._text(arguments[0]) if arguments else None
        match function, arguments:
            case _, [thing, name, *_] if called == "getattr":
                return self._part(self.resolve(thing), self._text(name))
            case _, [_, *_] if called == "__import__":
                return text and text.split(".")[0]
            case _, [_, *_] if called in ("import_module", "importlib.import_module"):
                return text
            case ast.Attribute(value=namespace, attr="get" | "pop" | "__getitem__"), [name, *_]:
                return self._entry(namespace, name)
            case ast.Attribute(value=thing, attr="__getattribute__"), [name]:
                return self._part(self.resolve(thing), self._text(name))
            case ast.Call(func=getter, args=[name]), [thing] if self._called(getter) in (
                "attrgetter",
                "operator.attrgetter",
            ):
                return self._part(self.resolve(thing), self._text(name))
        return None

    def _called(self, function: ast.expr) -> str | None:
        """The dotted name of a function, if only that by which the file calls it."""
        own = function.id if isinstance(function, ast.Name) else None
        return self.resolve(function) or own

    def _entry(self, namespace: ast.expr, name: ast.expr) -> str | None:
        """What a module's dictionary, or Python's own of modules, holds under ``name``."""
        match namespace:
            case ast.Attribute(value=thing, attr="__dict__"):
                return self._part(self.resolve(thing), self._text(name))
            case ast.Call(func=ast.Name(id="vars"), args=[thing]):
                return self._part(self.resolve(thing), self._text(name))
        return self._text(name) if self.resolve(namespace) == "sys.modules" else None

    def _text(self, node: ast.expr) -> str | None:
        """The string that an expression is, in one piece or put together of some."""
        return self._texts.get(node)

    def _joined(self, node: ast.AST) -> str | None:
        match node:
            case ast.Constant(value=str(text)):
                return text if len(text) <= MAX_NAME else None
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                parts = [self._text(left), self._text(right)]
            case ast.JoinedStr(values=values):
                parts = [self._text(value) for value in values]
            case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
                return self._text(value)
            case _:
                return None
        if None in parts:
            return None
        joined = "".join(filter(None, parts))
        return joined if len(joined) <= MAX_NAME else None

    @staticmethod
    def _part(whole: str | None, name: str | None) -> str | None:
        return f"{whole}.{name}" if whole and name else None
