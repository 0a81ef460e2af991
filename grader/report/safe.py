"""Showing text that others wrote: it stays text, whatever it is printed to.

A student's strings reach terminals, logs and the log readers of CI systems. Each of those gives
some characters a meaning of its own, and a student must not be able to use any of them.
"""

from __future__ import annotations

import re
import unicodedata

# Cc: control characters, and with them every ANSI sequence. Cf: bidirectional overrides,
# invisible characters, tags. Cs: lone surrogates, which cannot be encoded. Zl and Zp: line ends
# that only some programs see. Cn: unassigned.
_UNSAFE_CATEGORIES = frozenset({"Cc", "Cf", "Cs", "Zl", "Zp", "Cn"})

# Persian and the scripts of India cannot be spelt without these two.
_JOINERS = frozenset("\u200c\u200d")

# GitHub and Azure act on `##[error]` and `##vso[...]`, TeamCity on `##teamcity[...]`, wherever
# in a line they stand.
_BRACKET_COMMAND = re.compile(r"##(?=\w*\[)")

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


def _visible(character: str) -> str:
    if unicodedata.category(character) in _UNSAFE_CATEGORIES and character not in _JOINERS:
        return character.encode("unicode_escape").decode("ascii")
    return character


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
