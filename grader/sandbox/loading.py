"""Importing the student's file, where it may run."""

from __future__ import annotations

import ast
import linecache
import sys
import types
import warnings
from pathlib import Path

from grader.sandbox.messages import ForbiddenUse

_SIMPLE_CALLS = {
    "namedtuple", "NamedTuple", "TypedDict", "TypeVar", "NewType", "device", "float", "int", "bool",
    "str", "tuple", "list", "dict", "set", "frozenset", "range", "partial", "sqrt", "log", "exp",
    "finfo", "getLogger", "Path",
}  # fmt: skip


def load(path: str, name: str, *, definitions_only: bool = False) -> types.ModuleType:
    """Run the file as module ``name``, registered in ``sys.modules`` before it runs.

    Raises whatever the compiler or the file raises.
    """
    return load_source(Path(path).read_text("utf-8"), path, name, definitions_only=definitions_only)


def load_source(
    source: str, path: str, name: str, *, definitions_only: bool = False
) -> types.ModuleType:
    """Like ``load``, for source that need not lie in a file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        tree = ast.parse(source, path)
        if definitions_only:
            tree.body = [statement for statement in tree.body if _defines(statement)]
        code = compile(tree, path, "exec", dont_inherit=True)
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    module = types.ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    exec(code, module.__dict__)
    return sys.modules.get(name, module)


def _defines(statement: ast.stmt) -> bool:
    """Whether a statement imports, defines or assigns something simple."""
    match statement:
        case ast.Import() | ast.ImportFrom() | ast.ClassDef():
            return True
        case ast.FunctionDef() | ast.AsyncFunctionDef():
            return True
        case ast.Assign() | ast.AnnAssign():
            return statement.value is None or _is_simple(statement.value)
        case ast.Expr(value=ast.Constant()):
            return True
        case ast.Try():
            parts = [*statement.body, *statement.orelse, *statement.finalbody]
            parts += [s for handler in statement.handlers for s in handler.body]
            return all(isinstance(part, ast.Pass) or _defines(part) for part in parts)
        case ast.If():
            parts = [*statement.body, *statement.orelse]
            return _is_simple(statement.test) and all(_defines(part) for part in parts)
    return False


def _is_simple(expression: ast.expr) -> bool:
    for node in ast.walk(expression):
        if isinstance(node, ast.Call):
            function = node.func
            name = function.attr if isinstance(function, ast.Attribute) else None
            name = function.id if isinstance(function, ast.Name) else name
            if name not in _SIMPLE_CALLS:
                return False
        if isinstance(node, ast.Compare) and "__name__" in ast.dump(node):
            return False
        if isinstance(node, ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr):
            return False
    return True


def defined_names(source: str) -> list[str]:
    """Names of the functions and classes at the top of ``source``."""
    return [
        node.name
        for node in ast.parse(source).body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    ]


def find_forbidden(source: str, forbidden: list[str]) -> list[ForbiddenUse]:
    """Uses of ``forbidden`` dotted names in ``source``, which is parsed and not run.

    Follows imports, aliases and ``getattr`` with a constant name. Names that merely look alike,
    docstrings and comments do not count. Raises what the parser raises.
    """
    tree = ast.parse(source)
    lines = source.splitlines()
    names = _Names(tree)
    found: dict[int, ForbiddenUse] = {}
    for node in ast.walk(tree):
        dotted = names.resolve(node) if isinstance(node, ast.expr) else None
        match = next((name for name in forbidden if dotted and _same(dotted, name)), None)
        line = getattr(node, "lineno", 0)
        if match is not None and line not in found:
            text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
            found[line] = ForbiddenUse(name=match, line=line, text=text[:200])
    return [found[line] for line in sorted(found)]


def _same(dotted: str, forbidden: str) -> bool:
    """Whether two dotted names mean one torch object, however it was reached."""
    for private, public in (
        ("torch._C._nn.", "torch.nn.functional."),
        ("torch.nn.modules.activation.", "torch.nn."),
        ("torch.nn.modules.", "torch.nn."),
    ):
        if dotted.startswith(private):
            dotted = public + dotted.removeprefix(private)
            break
    return dotted == forbidden


class _Names:
    """What the names of a file stand for, as dotted names of the library."""

    def __init__(self, tree: ast.Module) -> None:
        self._bound: dict[str, str] = {}
        own = {
            node.name
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        }
        self._starred: list[str] = []
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name if alias.asname else alias.name.split(".")[0]
                    self._bound[alias.asname or top] = top
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                for alias in node.names:
                    if alias.name == "*":
                        self._starred.append(node.module)
                    else:
                        self._bound[alias.asname or alias.name] = f"{node.module}.{alias.name}"
        for name in own:
            self._bound.pop(name, None)
        self._own = own
        # An alias may be assigned after the function that uses it, and aliases may chain.
        for _ in range(4):
            for node in ast.walk(tree):
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                    dotted = self.resolve(node.value)
                    if dotted is not None and dotted.split(".")[0] == "torch":
                        self._bound[node.targets[0].id] = dotted

    def resolve(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name):
            if node.id in self._bound:
                return self._bound[node.id]
            if node.id not in self._own and self._starred:
                return f"{self._starred[-1]}.{node.id}"
            return None
        if isinstance(node, ast.Attribute):
            inner = self.resolve(node.value)
            return None if inner is None else f"{inner}.{node.attr}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self._resolve_dynamic(node.func.id, node.args)
        return None

    def _resolve_dynamic(self, function: str, arguments: list[ast.expr]) -> str | None:
        if function == "getattr" and len(arguments) >= 2:
            inner, name = self.resolve(arguments[0]), arguments[1]
            if inner and isinstance(name, ast.Constant) and isinstance(name.value, str):
                return f"{inner}.{name.value}"
        if function in ("__import__", "import_module") and arguments:
            name = arguments[0]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                return name.value.split(".")[0] if function == "__import__" else name.value
        return None
