"""Jupyter notebooks of formats 3 and 4, as Python text.

The code cells follow one another in the notebook's order; each line knows the cell it came from.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

import msgspec

from . import magics
from .model import NotGradable
from .source import MAX_TEXT_BYTES, Code, decode, few, left_out, staged

# Their cell is run as Python where it stands; all other cell magics run it elsewhere, or not.
_PYTHON_MAGICS = {
    *("time", "timeit", "capture", "prun", "lprun", "mprun", "memit", "scalene", "snakeviz"),
    *("pyinstrument", "heat", "debug", "wandb", "ipytest", "notify"),
}
_WRITING_MAGICS = {"writefile", "file"}
_CELL_MAGIC = re.compile(r"%%[ \t]*([\w!]+)([^\n]*)")


class _Cell(msgspec.Struct):
    number: int
    """Counting all cells from 1, as the student sees them."""
    lines: list[str]
    target: str | None = None
    """The file that ``%%writefile`` makes of the cell."""
    appends: bool = False


def read_notebook(data: bytes, *, file: str) -> Code:
    """The code of a notebook; ``file`` is the name whose ``%%writefile`` cells belong to it.

    Raises ``NotGradable`` where ``data`` is not a notebook or holds no code.
    """
    text, notes = decode(data, coding_line=False)
    try:
        notebook = json.loads(text)
    except RecursionError:
        raise NotGradable("The notebook is nested too deeply to be read.") from None
    except ValueError as error:
        reason = f" ({error})" if isinstance(error, json.JSONDecodeError) else ""
        raise NotGradable(
            f"The notebook is broken{reason}. Save it again in Jupyter, and hand in that file."
        ) from None
    main: list[_Cell] = []
    written: dict[str, list[_Cell]] = {}
    skipped: list[str] = []
    lines_left_out: list[str] = []
    length = 0
    for number, source in _code_cells(notebook):
        length += len(source) + 1
        if length > MAX_TEXT_BYTES:
            raise NotGradable(
                f"The notebook holds more than {MAX_TEXT_BYTES >> 20} MiB of code. "
                "Leave out what is not part of your answer."
            )
        cell = _Cell(number=number, lines=_dedented(source).split("\n"))
        foreign = _read_cell_magics(cell)
        cleaned, changed = magics.comment_out("\n".join(cell.lines))
        cell.lines = cleaned.split("\n")
        lines_left_out += [f"cell {number}, line {line}" for line in changed]
        if cell.target and PurePosixPath(cell.target).name == file:
            cell.target = None
        elif cell.target:
            earlier = written.get(cell.target, []) if cell.appends else []
            written[cell.target] = [*earlier, cell]
            cell = _Cell(number=number, lines=[f"# {line}" for line in cell.lines])
        elif foreign:
            skipped.append(f"cell {number} (%%{foreign})")
        main.append(cell)
    if not main:
        raise NotGradable("The notebook has no code cells. Put your code in one.")
    if skipped:
        notes.append(f"Cells that are not Python of this notebook were left out: {few(skipped)}.")
    if lines_left_out:
        notes.append(left_out(lines_left_out))
    code = _joined(main)
    return Code(
        text=code.text,
        origins=code.origins,
        notes=notes,
        written={name: _joined(cells) for name, cells in written.items()},
    )


def _code_cells(notebook: Any) -> Iterator[tuple[int, str]]:
    sheets: list[Any] = []
    if isinstance(notebook, dict):
        worksheets = notebook.get("worksheets")
        sheets = [notebook, *(worksheets if isinstance(worksheets, list) else [])]
    groups = [sheet["cells"] for sheet in sheets if isinstance(sheet, dict) and "cells" in sheet]
    groups = [group for group in groups if isinstance(group, list)]
    if not groups:
        raise NotGradable("The file is not a notebook: it has no cells.")
    for number, cell in enumerate((cell for group in groups for cell in group), 1):
        if isinstance(cell, dict) and cell.get("cell_type") == "code":
            source = cell.get("source", cell.get("input", ""))
            parts = source if isinstance(source, list) else [source]
            text = "".join(part for part in parts if isinstance(part, str))
            text = re.sub(r"[\ud800-\udfff]", "\ufffd", text)
            yield number, text.replace("\r\n", "\n").replace("\r", "\n")


def _dedented(source: str) -> str:
    # IPython runs a cell that is indented as a whole, as pasted code often is.
    source_lines = source.split("\n")
    first = next((line for line in source_lines if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip(" \t"))]
    return "\n".join(line.removeprefix(indent) for line in source_lines) if indent else source


def _read_cell_magics(cell: _Cell) -> str | None:
    """Comment out the cell's ``%%`` lines, and all of it if it is not Python: then its magic."""
    for index, line in enumerate(cell.lines):
        if not line.strip():
            continue
        magic = _CELL_MAGIC.match(line)
        if not magic:
            return None
        cell.lines[index] = f"# {line}"
        if magic[1] in _PYTHON_MAGICS:
            continue
        if magic[1] in _WRITING_MAGICS:
            words = [word.strip("'\"") for word in magic[2].split()]
            target = _target(words[-1] if words else "")
            if target:
                cell.target, cell.appends = target, "-a" in words or "--append" in words
                return None
        cell.lines[index + 1 :] = [f"# {line}" for line in cell.lines[index + 1 :]]
        return magic[1]
    return None


def _target(name: str) -> str | None:
    path = PurePosixPath(name.replace("\\", "/"))
    if path.suffix != ".py":
        return None
    relative = not path.is_absolute() and ".." not in path.parts and len(path.parts) <= 2
    return str(path) if relative else path.name


def _joined(cells: list[_Cell]) -> Code:
    return Code(
        text=staged("\n".join(line for cell in cells for line in cell.lines) + "\n"),
        origins=[
            f"cell {cell.number}, line {line}"
            for cell in cells
            for line in range(1, len(cell.lines) + 1)
        ],
    )
