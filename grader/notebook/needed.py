"""Finds the code in a session's cells that some names need, without running it."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

import msgspec

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPOUND = (ast.If, ast.Try, ast.With, ast.For, ast.While)


class _Statement(msgspec.Struct):
    cell: int
    node: ast.stmt
    binds: set[str]
    changes: set[str]
    """Names of things that it assigns to parts of, or adds to."""
    uses: set[str]


def only_needed(cells: list[str], names: Iterable[str]) -> tuple[list[str], list[str]]:
    """``cells`` with blank lines for all that ``names`` do not need; and names that are not there.

    Needed are the last definition of each name, what is done to it afterwards, and what these
    use, and so on. Cells that are not Python, which have not run either, become blank.
    """
    statements = [one for number, text in enumerate(cells) for one in _statements(number, text)]
    names = list(names)
    missing = [name for name in names if not any(name in one.binds for one in statements)]
    pending = [*names, "*"]
    asked: set[str] = set()
    kept: list[_Statement] = []
    while pending:
        name = pending.pop()
        if name not in asked:
            asked.add(name)
            found = list(_making(name, statements))
            kept += found
            pending += [used for one in found for used in one.uses]
    lines: dict[int, set[int]] = {}
    for one in kept:
        lines.setdefault(one.cell, set()).update(range(_first_line(one.node), _last_line(one.node)))
    return [_only(text, lines.get(number, set())) for number, text in enumerate(cells)], missing


def _only(text: str, kept: set[int]) -> str:
    lines = text.split("\n")
    return "\n".join(line if number in kept else "" for number, line in enumerate(lines, 1))


def _making(name: str, statements: list[_Statement]) -> Iterator[_Statement]:
    """The statements that make ``name`` what it is at the end, the last one first."""
    for one in reversed(statements):
        if name in one.changes:
            yield one
        if name in one.binds:
            yield one
            # `f = compile(f)` and `class A(A)` build on what was there; an `if` may do nothing.
            rests_on_earlier = name == "*" or isinstance(one.node, _COMPOUND)
            if not rests_on_earlier and name not in _names(one.node, ast.Load):
                return


def _statements(cell: int, text: str) -> Iterator[_Statement]:
    try:
        body = ast.parse(text).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            continue  # it may only stand first, and does not once cells follow one another
        changes = {target for part in _at_once(node) for target in _changed(part)}
        uses = {part.id for part in ast.walk(node) if isinstance(part, ast.Name)}
        yield _Statement(cell, node, set(_bound(node)), changes, uses)


def _bound(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name.split(".")[0]
    elif isinstance(node, _COMPOUND):
        yield from _names(node, ast.Store)
        for part in ast.iter_child_nodes(node):
            parts = part.body if isinstance(part, ast.ExceptHandler) else [part]
            for inner in parts:
                if isinstance(inner, ast.stmt):
                    yield from _bound(inner)
    elif not isinstance(node, ast.AugAssign):
        yield from _names(node, ast.Store)


def _changed(node: ast.AST) -> Iterator[str]:
    targets: list[ast.expr] = []
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, ast.AugAssign | ast.AnnAssign):
        targets = [node.target]
    for target in targets:
        whole = target
        while isinstance(whole, ast.Attribute | ast.Subscript):
            whole = whole.value
        if isinstance(whole, ast.Name) and (whole is not target or isinstance(node, ast.AugAssign)):
            yield whole.id


def _names(node: ast.AST, context: type[ast.expr_context]) -> set[str]:
    """Names that are read, or set, when the statement itself runs."""
    return {
        part.id
        for part in _at_once(node)
        if isinstance(part, ast.Name) and isinstance(part.ctx, context)
    }


def _at_once(node: ast.AST) -> Iterator[ast.AST]:
    """The parts of a statement that run with it: not the bodies of functions."""
    yield node
    for field, value in ast.iter_fields(node):
        if field == "body" and isinstance(node, _FUNCTIONS):
            continue
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ast.AST):
                yield from _at_once(part)


def _first_line(node: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(one.lineno for one in decorators)])


def _last_line(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) + 1
