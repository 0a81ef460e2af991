"""Reads TOML files with errors that name the line."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from grader.report.words import nearest as nearest_word

from .model import CourseError

MAX_BYTES = 256 * 1024

S = TypeVar("S", bound=msgspec.Struct)

_EXPECTED = {
    str: "a string",
    list[str]: "an array of strings",
    dict[str, Any]: "a table",
    int: "a whole number",
    float: "a number",
}


class TomlFile:
    """A TOML file, read. ``data`` is what it says.

    Raises ``CourseError`` where it is missing, cannot be read, or is not TOML.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            # A named pipe would block for ever, and reports itself as no file.
            if path.exists() and not path.is_file():
                raise CourseError(f"{path}: found a folder or a device; expected a TOML file")
            with path.open("rb") as stream:
                raw = stream.read(MAX_BYTES + 1)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise CourseError(f"{path}: cannot be read ({reason}); expected a TOML file") from None
        if len(raw) > MAX_BYTES:
            raise CourseError(f"{path}: larger than {MAX_BYTES} bytes; expected a short TOML file")
        try:
            self.text = raw.decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            line = raw.count(b"\n", 0, error.start) + 1
            raise CourseError(
                f"{path}, line {line}: found the byte 0x{raw[error.start]:02x}; "
                "expected a file saved as UTF-8"
            ) from None
        try:
            self.data: dict[str, Any] = tomllib.loads(self.text)
        except (ValueError, RecursionError) as error:
            place = re.search(r"\(at line (\d+), column \d+\)", str(error))
            line = int(place[1]) if place else self.text.count("\n") + 1
            reason = "nested too deeply" if isinstance(error, RecursionError) else error
            raise CourseError(f"{path}, line {line}: not TOML: {reason}") from None

    def error(self, keys: Sequence[str], message: str) -> CourseError:
        """An error about what is at ``keys``; about their table where the last is missing."""
        return CourseError(f"{self.path}, line {self.line(keys)}: {message}")

    def line(self, keys: Sequence[str]) -> int:
        """Number of the line where the entry at ``keys`` starts, or else its nearest table."""
        keys = tuple(keys)
        table: tuple[str, ...] = ()
        start, statement = 1, ""
        # A statement of TOML can be read by itself, so its end is where it first can be.
        for number, line in enumerate(self.text.split("\n") if keys else (), 1):
            statement += line + "\n"
            try:
                data = tomllib.loads(statement)
            except ValueError:
                continue
            if statement.lstrip().startswith("["):
                table = _only_path(data)
                found = table[: len(keys)] == keys
            else:
                found = keys[: len(table)] == table and _holds(data, keys[len(table) :])
            if found:
                return start
            start, statement = number + 1, ""
        return self.line(keys[:-1]) if keys else 1

    def table(self, keys: Sequence[str], value: object, known: Iterable[str]) -> dict[str, Any]:
        """``value`` as a table of ``known`` keys only; raises ``CourseError``."""
        known = list(known)
        if not isinstance(value, dict):
            raise self.error(
                keys, f"found {_brief(value)} for {keys[-1]}; expected a table of {_listed(known)}"
            )
        for key in value:
            if key not in known:
                raise self.error(
                    [*keys, key],
                    f"found the unknown key {_brief(key)}; expected {nearest(key, known)}",
                )
        return value

    def struct(
        self, keys: Sequence[str], value: object, type_: type[S], **parts: msgspec.Struct | None
    ) -> S:
        """``value`` as a ``type_``; ``parts`` are fields that the caller has converted itself.

        Raises ``CourseError`` for unknown and missing keys and for values of another type.
        """
        fields = msgspec.structs.fields(type_)
        table = self.table(keys, value, [field.name for field in fields])
        values: dict[str, Any] = dict(parts)
        for field in fields:
            if field.name in parts:
                continue
            place = [*keys, field.name]
            if field.name not in table:
                if field.required:
                    raise self.error(
                        place, f"{field.name} is missing; expected {_expected(field.type)}"
                    )
                continue
            found = table[field.name]
            try:
                values[field.name] = msgspec.convert(found, field.type)
            except (msgspec.ValidationError, OverflowError):
                raise self.error(
                    place,
                    f"found {_brief(found)} for {field.name}; expected {_expected(field.type)}",
                ) from None
            if found == "":
                raise self.error(place, f'found "" for {field.name}; expected some text')
        return type_(**values)

    def positive(self, keys: Sequence[str], table: dict[str, Any]) -> None:
        """Check that all of ``table`` is positive and finite; raises ``CourseError``."""
        for key, number in table.items():
            if not 0 < number < 2**63:
                raise self.error(
                    [*keys, key], f"found {_brief(number)} for {key}; expected a positive number"
                )


def nearest(word: str, known: Iterable[str]) -> str:
    """Words for an error: the most similar known word, if there is one, and all of them."""
    known = list(known)
    near = nearest_word(word, known)
    return f"{near} (known: {_listed(known)})" if near else f"one of {_listed(known)}"


def _listed(words: list[str]) -> str:
    return ", ".join(words)


def _expected(type_: Any) -> str:
    for known, words in _EXPECTED.items():
        if type_ == known or type_ == known | None:
            return words
    raise TypeError(type_)


def _brief(value: object) -> str:
    if isinstance(value, dict):
        return "a table"
    try:
        text = repr(value)
    except (ValueError, RecursionError):  # a number of too many digits, too many brackets
        return "a very large value"
    return text if len(text) <= 80 else text[:77] + "..."


def _only_path(data: Any) -> tuple[str, ...]:
    path = []
    while data:
        if isinstance(data, list):
            data = data[0]
        else:
            ((key, data),) = data.items()
            path.append(key)
    return tuple(path)


def _holds(data: Any, keys: tuple[str, ...]) -> bool:
    for key in keys:
        if not isinstance(data, dict) or key not in data:
            return False
        data = data[key]
    return bool(keys)
