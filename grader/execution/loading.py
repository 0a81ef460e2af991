"""Importing the student's file, where it may run."""

from __future__ import annotations

import ast
import contextlib
import io
import linecache
import symtable
import sys
import tokenize
import types
import warnings
from collections import deque
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import NoReturn

from grader.wire.budget import MAX_MESSAGE_TEXT
from grader.wire.messages import Frame, Raised
from grader.wire.values import sendable

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


def readings(path: Path) -> list[str]:
    """A file's source as ``load`` reads it, and as Python's own import does, if that differs."""
    content = path.read_bytes()
    texts = [content.decode("utf-8", "replace")]
    with contextlib.suppress(SyntaxError, LookupError):
        named, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
        texts.append(content.decode(named, "replace"))
    return list(dict.fromkeys(text.removeprefix("\ufeff") for text in texts))


def refused(error: BaseException, path: Path) -> Raised:
    """What to say of a source that was not compiled: of bad syntax, or nested too deeply."""
    frame = None
    message = str(error)
    if isinstance(error, SyntaxError):
        message = error.msg
        if error.lineno is not None:
            text = (error.text or "").strip()[:200]
            frame = Frame(file=path.name, line=error.lineno, text=sendable(text))
    elif isinstance(error, MemoryError | RecursionError):
        message = "the source is nested too deeply to be compiled"
    return Raised(
        kind="syntax",
        type=sendable(str(type(error).__name__)),
        bases=["SyntaxError"],
        message=message[:MAX_MESSAGE_TEXT],
        frame=frame,
    )


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
        for part in imported_part(statement)
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


def defined_elsewhere(source: str, names: Collection[str]) -> dict[str, str]:
    """Where functions and classes of these names are defined, but not for others to use.

    Within the outermost ``class X`` or ``function f``, or in ``main``: under ``if __name__ ==
    "__main__"``. Of several places the first counts.
    """
    found: dict[str, str] = {}
    pending: deque[tuple[ast.AST, str]] = deque()
    if names:
        with contextlib.suppress(MemoryError, RecursionError):  # it nests too deeply
            pending.append((ast.parse(source), ""))
    while pending:
        node, place = pending.popleft()
        if isinstance(node, _DEFINITIONS):
            if place and node.name in names:
                found.setdefault(node.name, place)
            kind = "class" if isinstance(node, ast.ClassDef) else "function"
            place = place or f"{kind} {node.name[:200]}"
        elif isinstance(node, ast.stmt) and imported_part(node) != [node]:
            place = place or "main"
        pending += [(child, place) for child in ast.iter_child_nodes(node)]
    return found


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def imported_part(statement: ast.stmt) -> list[ast.stmt]:
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
