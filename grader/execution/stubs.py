"""Which definitions of a file nobody has filled in, seen from its source."""

from __future__ import annotations

import ast
import types
from collections.abc import Iterator, Sequence

from grader.wire.messages import Stub

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_PLAIN_BASES = {"object", "Module", "nn.Module", "torch.nn.Module"}
_PLAIN_ERRORS = {"NotImplementedError", "NotImplemented", "ValueError"}
"""What a stub raises, or who hopes that refusing everything is right now and then."""
_CAN_REBIND = {"globals", "setattr", "exec", "eval", "vars", "locals", "__dict__", "modules"}


def stubs(source: str, names: Sequence[str]) -> dict[str, Stub]:
    """Those of ``names`` whose definition in ``source`` computes nothing, and how it ends.

    Such a body is ``pass``, ``...``, a docstring, ``return None`` or an error whatever comes in. In
    doubt, such as about a definition that something could replace, it is none.
    Raises what the parser raises.
    """
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    used |= {node.attr for node in nodes if isinstance(node, ast.Attribute)}
    if used & _CAN_REBIND:
        return {}
    found: dict[str, Stub] = {}
    for name in names:
        binding = [node for node in nodes if _binds(node, name)]
        if len(binding) == 1 and binding[0] in tree.body and (stub := _stub(binding[0])):
            found[name] = stub
    return found


def _binds(node: ast.AST, name: str) -> bool:
    """Whether ``node`` defines ``name``, or sets it or something of it."""
    match node:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return node.name == name
        case ast.alias():
            return (node.asname or node.name) in (name, "*")
        case ast.Name(ctx=ast.Store() | ast.Del()):
            return node.id == name
        case ast.Attribute(value=ast.Name(), ctx=ast.Store() | ast.Del()):
            return isinstance(node.value, ast.Name) and node.value.id == name
    return False


def _stub(node: ast.AST) -> Stub | None:
    match node:
        case ast.FunctionDef(decorator_list=[]) | ast.AsyncFunctionDef(decorator_list=[]):
            return _empty(node.body)
        case ast.ClassDef(decorator_list=[], keywords=[]):
            if all(ast.unparse(base) in _PLAIN_BASES for base in node.bases):
                return _empty_class(node)
    return None


def _empty_class(node: ast.ClassDef) -> Stub | None:
    ends = [_empty(part.body) for part in _methods(node)]
    rest = [part for part in node.body if not isinstance(part, _Function)]
    if None in ends or _empty(rest) is None:
        return None
    return "raises" if "raises" in ends or not ends else "returns"


def _methods(node: ast.ClassDef) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    yield from (part for part in node.body if isinstance(part, _Function))


def _empty(body: Sequence[ast.stmt]) -> Stub | None:
    """How a body ends that does nothing; None if it does anything."""
    nothing: set[str] = set()

    def is_none(value: ast.expr | None) -> bool:
        match value:
            case None | ast.Constant(value=None) | ast.Constant(value=types.EllipsisType()):
                return True
            case ast.Name():
                return value.id in nothing or value.id == "NotImplemented"
            case ast.Tuple() | ast.List():
                return all(map(is_none, value.elts))
        return False

    for statement in body:
        match statement:
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                continue
            case ast.Expr(value=value) if ast.unparse(value) == "super().__init__()":
                continue
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if is_none(value):
                nothing.add(name)
            case ast.Return(value=value) if is_none(value):
                return "returns"
            case ast.Raise(exc=ast.expr() as error) if _is_plain(error):
                return "raises"
            case _:
                return None
    return "returns"


def _is_plain(error: ast.expr) -> bool:
    """Whether an error that is raised whatever comes in is one that nothing was computed for."""
    called, given = (error.func, error.args) if isinstance(error, ast.Call) else (error, [])
    return (
        isinstance(called, ast.Name)
        and called.id in _PLAIN_ERRORS
        and all(isinstance(one, ast.Constant) for one in given)
    )
