"""Writes the source of a session's definitions to a file that can be graded."""

from __future__ import annotations

import inspect
import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from grader.course.model import Assignment, NotGradable
from grader.course.notebook import read_notebook
from grader.course.source import imported_modules
from grader.notebook.needed import only_needed


class CheckError(Exception):
    """Nothing could be checked; the text says what to do about it."""


def write_submission(exports: dict[str, Any], assignment: Assignment, folder: Path) -> Path:
    """A file to grade ``exports`` by: the one that they are all from, or one made in ``folder``.

    That is a notebook whose cell 7 is the session's ``In [7]``, so that messages name places that
    the student knows. Raises CheckError where there is no source.
    """
    files = {_file_of(value) for value in exports.values()}
    file = files.pop() if len(files) == 1 else None
    names = {name: getattr(value, "__name__", name) for name, value in exports.items()}
    cells, missing = only_needed(_session_cells(), names.values())
    typed = any(getattr(value, "__module__", None) == "__main__" for value in exports.values())
    if file is not None and (missing or not typed):
        for name, own in names.items():
            if name != own:
                raise CheckError(f"{file.name} calls it {own}; {assignment.id} asks for {name}")
        return file
    if missing and _shell() is None:
        raise CheckError(
            "Python keeps no source of what is typed at its prompt. Put it into a file and import "
            "that, or work in a notebook or IPython"
        )
    if missing:
        raise CheckError(
            f"the source of {' and '.join(missing)} is not among what this session has run; run "
            "the cell that defines it, or put it into a file and import that"
        )
    cells += [f"{name} = {own}" for name, own in names.items() if name != own]
    _copy_modules(cells, folder)
    submission = folder / f"{Path(assignment.file).stem}.ipynb"
    submission.write_text(json.dumps(_notebook(cells)), "utf-8")
    return submission


def _file_of(value: Any) -> Path | None:
    """The file that a class or a function was read from, if there is one."""
    parts = [value]
    if isinstance(value, type):
        # Its own functions; it may have borrowed some from elsewhere.
        own = vars(value).values()
        parts = [part for part in own if getattr(part, "__module__", None) == value.__module__]
    for part in parts:
        code = getattr(inspect.unwrap(part) if callable(part) else None, "__code__", None)
        if code is not None and Path(code.co_filename).is_file():
            return Path(code.co_filename).absolute()
    return None


def _shell() -> Any:
    """IPython's, in which this runs, or None."""
    return getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()


def _session_cells() -> list[str]:
    """What has been run, as Python text; cell n at n - 1."""
    shell = _shell()
    raw = [] if shell is None else shell.history_manager.input_hist_raw[1:]
    return [_as_python(text) for text in raw]


def _as_python(raw: str) -> str:
    try:
        return read_notebook(json.dumps(_notebook([raw])).encode(), file="").text
    except NotGradable:
        return ""


def _copy_modules(texts: Iterable[str], folder: Path) -> None:
    """Put the modules of the current folder that ``texts`` import into ``folder``."""
    pending = list(texts)
    while pending:
        for name in imported_modules(pending.pop()):
            file, copy = (place / f"{name.split('.')[0]}.py" for place in (Path.cwd(), folder))
            if file.is_file() and not copy.exists():
                copy.write_bytes(file.read_bytes())
                pending.append(file.read_text("utf-8", "replace"))


def _notebook(cells: list[str]) -> dict[str, Any]:
    return {
        "cells": [{"cell_type": "code", "source": text} for text in cells],
        "metadata": {},
        "nbformat": 4,
        "nbformat_minor": 5,
    }
