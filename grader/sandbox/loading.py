"""Importing the student's file, where it may run."""

from __future__ import annotations

import ast
import linecache
import symtable
import sys
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

from grader.sandbox.messages import ForbiddenUse

_SIMPLE_CALLS = {
    "namedtuple", "NamedTuple", "TypedDict", "TypeVar", "NewType", "device", "float", "int", "bool",
    "str", "tuple", "list", "dict", "set", "frozenset", "range", "partial", "sqrt", "log", "exp",
    "finfo", "getLogger", "Path", "is_available",
}  # fmt: skip


def load(path: str, name: str, *, definitions_only: bool = False) -> types.ModuleType:
    """Run the file as module ``name``, registered in ``sys.modules`` before it runs.

    With ``definitions_only``, a module that is not there is missed only where it is used. Raises
    whatever the compiler or the file raises.
    """
    return load_source(Path(path).read_text("utf-8"), path, name, definitions_only=definitions_only)


def load_source(
    source: str, path: str, name: str, *, definitions_only: bool = False
) -> types.ModuleType:
    """Like ``load``, for source that need not lie in a file."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)
        warnings.simplefilter("ignore", DeprecationWarning)
        program: str | ast.Module = source
        if definitions_only:
            program = ast.parse(source, path)
            definitions = [statement for statement in program.body if _defines(statement)]
            program.body = [part for statement in definitions for part in _tolerant(statement)]
        code = compile(program, path, "exec", dont_inherit=True)
    linecache.cache[path] = (len(source), None, source.splitlines(keepends=True), path)
    module = types.ModuleType(name)
    module.__file__ = path
    sys.modules[name] = module
    if definitions_only:
        module.__dict__[_MISSING] = _Missing
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


def _evaluated(expression: ast.AST) -> Iterator[ast.AST]:
    """The nodes that run when an expression does: not the body of a lambda."""
    yield expression
    for child in ast.iter_child_nodes(expression):
        if not (isinstance(expression, ast.Lambda) and child is expression.body):
            yield from _evaluated(child)


def _is_simple(expression: ast.expr) -> bool:
    for node in _evaluated(expression):
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


_MISSING = "__missing__"


class _Missing:
    """Stands for what a module that is not there would have given; to use it is to miss it."""

    def __init__(self, error: ModuleNotFoundError) -> None:
        vars(self)["error"] = error

    def _raise(self, *_: object, **__: object) -> NoReturn:
        error = vars(self)["error"]
        raise ModuleNotFoundError(str(error), name=error.name)

    __getattr__ = __call__ = __getitem__ = __mro_entries__ = __iter__ = _raise


def _tolerant(statement: ast.stmt) -> list[ast.stmt]:
    """An import as one statement for each name, which names nothing usable if that is not there."""
    match statement:
        case ast.ImportFrom(module="__future__"):
            return [statement]
        case ast.Import(names=names):
            parts: list[ast.stmt] = [ast.Import([alias]) for alias in names]
        case ast.ImportFrom(module=module, names=names, level=level):
            parts = [ast.ImportFrom(module, [alias], level) for alias in names]
        case _:
            return [statement]
    tolerant: list[ast.stmt] = []
    for alias, part in zip(names, parts, strict=True):
        name = alias.asname or alias.name.split(".")[0]
        (attempt,) = ast.parse(
            "try: pass\nexcept ModuleNotFoundError as error:\n"
            f"    globals().setdefault({name!r}, {_MISSING}(error))"
        ).body
        assert isinstance(attempt, ast.Try)
        attempt.body = [part]
        for node in ast.walk(attempt):
            ast.copy_location(node, statement)
        tolerant.append(ast.fix_missing_locations(attempt))
    return tolerant


def self_contained(source: str) -> bool:
    """Whether the definitions of a file use no variable that its other statements touch."""
    tree = ast.parse(source)
    other = [statement for statement in tree.body if not _defines(statement)]
    touched = {
        node.id
        for statement in other
        for part in _imported(statement)
        for node in ast.walk(part)
        if isinstance(node, ast.Name)
    }
    table = symtable.symtable(source, "<source>", "exec")
    used = {name for child in table.get_children() for name in _globals_of(child)}
    variables = {
        symbol.get_name()
        for symbol in table.get_symbols()
        if symbol.is_assigned() and not symbol.is_imported() and not symbol.is_namespace()
    }
    return not used & touched & variables


def _globals_of(table: symtable.SymbolTable) -> Iterator[str]:
    yield from (symbol.get_name() for symbol in table.get_symbols() if symbol.is_global())
    for child in table.get_children():
        yield from _globals_of(child)


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
    docstrings and comments do not count, nor does what runs only as ``__main__``. An entry that
    ends in ``=``, such as ``enable_gqa=``, means an option of that name that is passed, and not as
    False, to what is not the file's own. Raises what the parser raises.
    """
    tree = ast.parse(source)
    tree.body = [part for statement in tree.body for part in _imported(statement)]
    lines = source.splitlines()
    names = _Names(tree, forbidden)
    found: dict[int, ForbiddenUse] = {}
    for node in ast.walk(tree):
        dotted = names.resolve(node) if isinstance(node, ast.expr) else None
        match = next((name for name in forbidden if dotted and _same(dotted, name)), None)
        line = getattr(node, "lineno", 0)
        for option, place in names.passed_options(node):
            if f"{option}=" in forbidden:
                match, line = f"{option}=", place
        if match is not None and line not in found:
            text = lines[line - 1].strip() if 0 < line <= len(lines) else ""
            found[line] = ForbiddenUse(name=match, line=line, text=text[:200])
    return [found[line] for line in sorted(found)]


def _imported(statement: ast.stmt) -> list[ast.stmt]:
    """What of a statement runs in a module that is imported."""
    match statement:
        case ast.If(
            test=ast.Compare(
                left=ast.Name(id="__name__"),
                ops=[ast.Eq()],
                comparators=[ast.Constant(value="__main__")],
            )
        ):
            return statement.orelse
    return [statement]


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

    def __init__(self, tree: ast.Module, forbidden: list[str]) -> None:
        self._forbidden = forbidden
        self._bound = self._imports(tree)
        functions = [
            node
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        ]
        self._own = {node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
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
        for _ in range(4):
            for node in ast.walk(tree):
                if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                    dotted = self.resolve(node.value)
                    if dotted is not None and dotted.split(".")[0] == "torch":
                        self._bound[node.targets[0].id] = dotted

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
        paths = [
            name.removeprefix(f"{module}.").split(".")[0]
            for name in self._forbidden
            if name.startswith(f"{module}.")
        ]
        return {path: f"{module}.{path}" for path in paths}

    def resolve(self, node: ast.expr) -> str | None:
        if isinstance(node, ast.Name):
            return self._local.get(node, self._bound).get(node.id, self._bound.get(node.id))
        if isinstance(node, ast.Attribute):
            inner = self.resolve(node.value)
            return None if inner is None else f"{inner}.{node.attr}"
        if isinstance(node, ast.Call):
            called = node.func.id if isinstance(node.func, ast.Name) else self.resolve(node.func)
            return self._resolve_dynamic(called, node.args)
        return None

    def _resolve_dynamic(self, function: str | None, arguments: list[ast.expr]) -> str | None:
        if function == "getattr" and len(arguments) >= 2:
            inner, name = self.resolve(arguments[0]), arguments[1]
            if inner and isinstance(name, ast.Constant) and isinstance(name.value, str):
                return f"{inner}.{name.value}"
        if function in ("__import__", "import_module", "importlib.import_module") and arguments:
            name = arguments[0]
            if isinstance(name, ast.Constant) and isinstance(name.value, str):
                return name.value.split(".")[0] if function == "__import__" else name.value
        return None
