"""Rewrites a module so that nothing but its behaviour is left to recognise it by."""

from __future__ import annotations

import ast


def rewritten(source: str) -> str:
    """``source`` with other local names, no docstrings and no comments, and laid out anew."""
    tree = ast.parse(source)
    for function in [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]:
        if ast.get_docstring(function) is not None:
            function.body = function.body[1:] or [ast.Pass()]
        _Renamer(function).visit(function)
    return ast.unparse(ast.fix_missing_locations(tree))


class _Renamer(ast.NodeTransformer):
    """Gives every name that a function assigns another one; parameters keep theirs."""

    def __init__(self, function: ast.FunctionDef) -> None:
        inner = [n for n in ast.walk(function) if isinstance(n, ast.FunctionDef | ast.Lambda)]
        parameters = {a.arg for n in inner for a in ast.walk(n.args) if isinstance(a, ast.arg)}
        stored = [
            node.id
            for node in ast.walk(function)
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
        ]
        names = [name for name in dict.fromkeys(stored) if name not in parameters]
        self._names = {name: f"step_{number}" for number, name in enumerate(names)}

    def visit_Name(self, node: ast.Name) -> ast.Name:
        return ast.copy_location(ast.Name(self._names.get(node.id, node.id), node.ctx), node)
