"""Escapes untrusted text, for every kind of output.

A student's strings reach terminals, logs and the log readers of CI systems. Each of those gives
some characters a meaning of its own, and a student must not be able to use any of them.
"""

from __future__ import annotations

import re
import struct
import unicodedata
from html import escape as escape_html

# Cc: control characters, and with them every ANSI sequence. Cf: bidirectional overrides,
# invisible characters, tags. Cs: lone surrogates, which cannot be encoded. Zl and Zp: line ends
# that only some programs see. Cn: unassigned.
_UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp", "Cn"})

_SURROGATES = re.compile("[\ud800-\udfff]")

# Persian and the scripts of India cannot be spelt without these two.
_JOINERS = frozenset("\u200c\u200d")

# GitHub and Azure act on `##[error]` and `##vso[...]`, TeamCity on `##teamcity[...]`, wherever
# in a line they stand.
_BRACKET_COMMAND = re.compile(r"##(?=\w*\[)")

# ASCII's punctuation but for the comma, the semicolon and the question mark.
_MARKUP = re.compile(r"[!-+\-./:<=>@\[-`{-~]")

# A spreadsheet takes what begins with one of these for a formula, full-width forms included.
_FORMULA_STARTS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")

_TAB_WIDTH = 4


def escape(text: str) -> str:
    """``text`` on one line, with everything that is not plainly visible written out.

    A character without a shape of its own becomes its Python escape (``\\x1b``, ``\\u202e``);
    so does a line end. Backslashes are left alone: the result is for reading, not for parsing.
    """
    text = _BRACKET_COMMAND.sub(r"#\\#", text)
    if text.isascii() and text.isprintable():
        return text
    return "".join(_visible(character) for character in text)


def _is_unsafe(character: str) -> bool:
    return unicodedata.category(character) in _UNSAFE_CATEGORIES and character not in _JOINERS


def _visible(character: str) -> str:
    if _is_unsafe(character):
        return character.encode("unicode_escape").decode("ascii")
    return character


def name(path: str) -> str:
    """A path, or a part of one, as text: a byte that is not UTF-8 becomes ``\\xfc``.

    Other lone surrogates, which no path holds and metadata can, become ``\\ud800``.
    """
    return _SURROGATES.sub(lambda match: _written_out(match[0]), path)


def _written_out(surrogate: str) -> str:
    # Python reads such a byte as U+DC00 and the byte: PEP 383.
    number = ord(surrogate) - 0xDC00
    return f"\\x{number:02x}" if 0x80 <= number <= 0xFF else f"\\u{ord(surrogate):04x}"


def html(text: str) -> str:
    """``escape(text)`` for HTML, between tags or in quoted attributes."""
    return escape_html(escape(text))


def markdown(text: str) -> str:
    """``escape(text)`` for one line of Markdown, GitHub's too, in which it stays plain text.

    Punctuation becomes character references, so that nothing makes a link, an image, emphasis, a
    heading, a list, a cell of a table or a tag, wherever in a line it stands. GitHub may still
    make a link of the name of a user or an issue.
    """
    return _MARKUP.sub(lambda match: f"&#{ord(match[0])};", escape(text).strip())


def json(data: bytes) -> bytes:
    """The same JSON in UTF-8, harmless where it is printed.

    What ``escape`` writes out is written as JSON's escapes, commands of CI systems included.
    """
    text = data.decode("utf-8").replace("##", r"#\u0023")
    if text.isascii() and "\x7f" not in text:
        return text.encode()
    return "".join(map(_in_json, text)).encode("utf-8")


def _in_json(character: str) -> str:
    if character == "\n" or not _is_unsafe(character):  # between JSON's tokens
        return character
    units = struct.iter_unpack(">H", character.encode("utf-16-be"))
    return "".join(f"\\u{unit:04x}" for (unit,) in units)


def cell(text: str) -> str:
    """``escape(text)`` as a cell of a table that no spreadsheet takes for a formula."""
    text = escape(text)
    return f"'{text}" if text.lstrip().startswith(_FORMULA_STARTS) else text


def lines(text: str) -> list[str]:
    """The lines of ``text``, each escaped, tabs expanded; none for empty text."""
    text = text.replace("\r\n", "\n").removesuffix("\n")
    return [escape(line.expandtabs(_TAB_WIDTH)) for line in text.split("\n")] if text else []


def command_start(line: str) -> int | None:
    """Where a GitHub workflow command begins in ``line``, or None.

    The runner obeys a line that begins with ``::``, white space before it or not. The check
    belongs after wrapping, since any ``::`` can come to stand first in a line.
    """
    body = line.lstrip()
    return len(line) - len(body) if body.startswith("::") else None


def guard(line: str) -> str:
    """``line`` so that no CI system takes it for a command."""
    start = command_start(line)
    return line if start is None else f"{line[:start]}\\{line[start:]}"
