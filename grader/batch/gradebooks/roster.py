"""Reads a platform's list of people, as a platform or a spreadsheet saves it."""

from __future__ import annotations

import csv
import io
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path

from grader.batch.errors import BatchError

Row = Mapping[str, str]

_MOST_BYTES = 64 * 1024 * 1024
_DELIMITERS = ",\t;"
_WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
"""How files of today's spreadsheets begin, and of those before 2007."""


def read_table(path: Path) -> list[dict[str, str]]:
    """The rows of a table as dictionaries by its headings, without empty rows.

    Commas, semicolons or tabs part the cells; it is in UTF-8, UTF-16 or Windows-1252. Of columns
    with one name the first is taken. Raises BatchError where there is no table.
    """
    data = read_bytes(path)
    if data.startswith(_WORKBOOKS):
        raise BatchError(f"{path}: is a spreadsheet's own file; save it as CSV, and name that")
    lines = _decoded(data).splitlines(keepends=True)
    while lines and (not lines[0].strip() or re.fullmatch(r'"?sep=.?"?', lines[0].strip(), re.I)):
        del lines[0]  # what Excel writes to say what parts the cells
    try:
        delimiter = max(
            _DELIMITERS, key=lambda one: len(next(csv.reader(lines, delimiter=one), []))
        )
        head, *rows = csv.reader(io.StringIO("".join(lines), newline=""), delimiter=delimiter)
    except (csv.Error, ValueError):
        head, rows = [], []
    names = [name.replace("\ufeff", "").strip() for name in head]
    full = [row for row in rows if any(cell.strip() for cell in row)]
    if not full:
        raise BatchError(f"{path}: holds no table; expected a head and a row for each student")
    first = [at for at, name in enumerate(names) if name and name not in names[:at]]
    return [{names[at]: row[at] if at < len(row) else "" for at in first} for row in full]


def read_bytes(path: Path) -> bytes:
    """A file of a size that tables have; raises BatchError for any other."""
    try:
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        raise BatchError(f"{path}: cannot be read ({error.strerror})") from None
    if len(data) > _MOST_BYTES:
        raise BatchError(f"{path}: is larger than {_MOST_BYTES >> 20} MiB, which no table is")
    return data


def _decoded(data: bytes) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    start = data[:1000]
    for zeros, encoding in ((start[1::2], "utf-16-le"), (start[::2], "utf-16-be")):
        if zeros and zeros.count(0) * 2 > len(zeros):
            return data.decode(encoding, "replace")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def normal(text: str) -> str:
    """Text as headings, names and addresses are compared."""
    return re.sub(r"\s+", " ", unicodedata.normalize("NFC", text)).strip().casefold()


def numbers(text: str) -> list[float]:
    """What the number at the end of a cell can mean; the likeliest first, none without one.

    ``1,000.00`` and ``1.000,00`` are a thousand each, ``12,5`` is twelve and a half, ``1,000`` and
    ``1.000`` may be a thousand or one.
    """
    found = re.search(r"\d[\d.,'\u2019\s]*$", text.strip())
    if found is None:
        return []
    cell = re.sub(r"['\u2019\s]", "", found[0]).rstrip(".,")
    *whole, last = re.split(r"[.,]", cell)
    if not whole:
        return [float(last)]
    decimal = float(f"{''.join(whole)}.{last}")
    kinds = set(re.findall(r"[.,]", cell))
    grouped = all(len(part) == 3 for part in (*whole[1:], last)) and len(whole[0]) <= 3
    if len(kinds) == 2 or not grouped:
        return [decimal]
    thousands = float("".join((*whole, last)))
    return [thousands] if len(whole) > 1 else [thousands, decimal]
