"""Whether code can keep anything from one call to the next, seen from its source.

What keeps nothing gives in a used process what it gives in a fresh one.
"""

from __future__ import annotations

import ast
import builtins
import symtable
from collections.abc import Iterator

from grader.execution.loading import imported_part

_MODULES = ("__future__", "collections.abc", "einops", "math", "numpy", "torch", "typing")

_BUILTINS = {
    "abs", "all", "any", "bool", "dict", "divmod", "enumerate", "filter", "float", "frozenset",
    "hasattr", "int", "isinstance", "issubclass", "len", "list", "map", "max", "min", "next", "pow",
    "print", "range", "repr", "reversed", "round", "set", "slice", "sorted", "str", "sum", "super",
    "tuple", "zip", "staticmethod", "classmethod", "property",
}  # fmt: skip

_GLOBAL_STATE = (
    "backends", "compile", "cuda", "enable_", "initial_seed", "jit", "library", "manual_seed",
    "ops", "random", "register_module", "seed", "set_", "use_deterministic", "utils",
)  # fmt: skip
"""How names begin that lead to settings and caches of a whole process, or to chance."""

_UNINITIALISED = {
    "empty", "empty_like", "empty_permuted", "empty_strided", "new", "new_empty", "resize_",
    "data_ptr", "storage", "untyped_storage",
}  # fmt: skip
"""What shows memory as it happens to be, or where it lies."""

_UNINITIALISED_IF_CALLED = ("Tensor", "ndarray")
"""How names end of classes whose instances show it, while their names are everywhere."""


def is_stateless(source: str) -> bool:
    """Whether ``source`` is sure to keep nothing; in doubt it is not.

    Its file has to consist of imports of well-known modules, functions, classes and constants, that
    touch nothing but their own arguments and variables. Raises what the parser raises.
    """
    tree = _WithoutOwnAttributes().visit(ast.parse(source))
    tree.body = [part for statement in tree.body for part in imported_part(statement)]
    table = symtable.symtable(ast.unparse(tree), "<source>", "exec")
    own = {one.get_name() for one in table.get_symbols() if one.is_assigned() or one.is_imported()}
    return (
        all(map(_only_defines, tree.body))
        and all(map(_is_harmless, ast.walk(tree)))
        and all(_is_plain(name) for name in _globals(table) if name not in own)
    )


class _WithoutOwnAttributes(ast.NodeTransformer):
    """Takes out of a tree what its classes look up in ``self``, and set there, by a name."""

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Call(
                func=ast.Name(id="getattr" | "setattr"), args=[ast.Name(id="self"), *others]
            ):
                return ast.copy_location(ast.Tuple(elts=others, ctx=ast.Load()), node)
        return node


def _only_defines(statement: ast.stmt) -> bool:
    """Whether a statement of a module or a class leaves nothing there that can change."""
    match statement:
        case ast.Import() | ast.ImportFrom() | ast.FunctionDef() | ast.ClassDef() | ast.Pass():
            return True
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Assign(value=value) | ast.AnnAssign(value=ast.expr() as value):
            return _is_constant(value) and not _last_name(value).endswith(_UNINITIALISED_IF_CALLED)
        case ast.AnnAssign(value=None):
            return True
    return False


def _is_harmless(node: ast.AST) -> bool:
    match node:
        case ast.Import(names=names):
            return all(_is_known(alias.name) for alias in names)
        case ast.ImportFrom(module=str(module), names=names, level=0):
            return _is_known(module) and all(_is_usual(alias.name) for alias in names)
        case ast.ImportFrom() | ast.Global() | ast.Nonlocal():
            return False
        case ast.Attribute(value=ast.Name(id="self"), attr=name):
            return not name.startswith("__")
        case ast.Attribute(attr=name, ctx=ast.Load()):
            return _is_usual(name)
        case ast.Attribute():
            return False  # of a function, a class or a module, perhaps under another name
        case ast.Subscript(value=value) if not isinstance(node.ctx, ast.Load):
            return isinstance(value, ast.Name | ast.Attribute | ast.Subscript)
        case ast.Call(func=function):
            return not _last_name(function).endswith(_UNINITIALISED_IF_CALLED)
        case ast.arguments(defaults=defaults, kw_defaults=options):
            return all(_is_constant(value) for value in [*defaults, *options] if value)
        case ast.FunctionDef(decorator_list=decorators):
            return all(map(_is_plain_decorator, decorators))
        case ast.ClassDef(bases=bases, body=body, decorator_list=[], keywords=[]):
            return all(map(_is_constant, bases)) and all(map(_only_defines, body))
        case ast.ClassDef() | ast.AsyncFunctionDef() | ast.Yield() | ast.YieldFrom():
            return False
    return True


def _is_constant(value: ast.expr) -> bool:
    """Whether an expression is a number, a text, a tuple of such, or a name with dots."""
    match value:
        case ast.Constant() | ast.Name():
            return True
        case ast.Attribute(value=inner) | ast.UnaryOp(operand=inner):
            return _is_constant(inner)
        case ast.BinOp(left=left, right=right):
            return _is_constant(left) and _is_constant(right)
        case ast.Tuple(elts=parts):
            return all(map(_is_constant, parts))
        case ast.Call(func=ast.Name(id="float"), args=[ast.Constant()], keywords=[]):
            return True
    return False


def _is_plain_decorator(decorator: ast.expr) -> bool:
    match decorator:
        case ast.Name(id="staticmethod" | "classmethod" | "property"):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name(id="torch"), attr="no_grad"), args=[]):
            return True
    return False


def _is_known(module: str) -> bool:
    """Whether a module is one of the well-known, or a part of one that is as usual."""
    return any(
        all(map(_is_usual, module.removeprefix(known).split(".")))
        for known in _MODULES
        if f"{module}.".startswith(f"{known}.")
    )


def _is_usual(name: str) -> bool:
    """Whether a name after a dot leads to nothing that outlives a call."""
    if name == "__init__":
        return True
    return not name.startswith(("_", "*", *_GLOBAL_STATE)) and name not in _UNINITIALISED


def _last_name(value: ast.expr) -> str:
    match value:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return ""


def _globals(table: symtable.SymbolTable) -> Iterator[str]:
    """Names that a scope, or one within it, takes from outside of all functions."""
    for symbol in table.get_symbols():
        if symbol.is_global() and symbol.is_referenced():
            yield symbol.get_name()
    for child in table.get_children():
        yield from _globals(child)


def _is_plain(name: str) -> bool:
    """Whether a name of Python's own is of a function or a class without side effects."""
    thing = getattr(builtins, name, None)
    return name in _BUILTINS or (isinstance(thing, type) and issubclass(thing, Exception))
