"""Finds IPython's lines in Python text, without parsing, and comments them out.

Only a line that starts a statement is one: ``% b`` inside of brackets is ordinary Python.
"""

from __future__ import annotations

import re

# Possessive quantifiers throughout: no text, however hostile, makes these backtrack.
_MAGIC = re.compile(
    r"""
    (?P<indent>[ \t\f]*+)
    (?: [!%]                                        # !pip install ..., %matplotlib inline
      | \?{1,2}+[ \t]*+[%\w]                        # ?name
      | %{0,2}+[\w.*]++\?{1,2}+[ \t]*+(?=\n|\Z)     # name?
      | [\w., \t]++=[ \t]*+[!%]                     # files = !ls
    )
    [^\n]*+ (?: (?<=\\) \n [^\n]*+ )*+
    """,
    re.VERBOSE,
)
_TOKEN = re.compile(
    r'''
      \#[^\n]*+
    | """ (?: [^"\\] | \\. | "(?!"") )*+ (?:"""|\Z|\\\Z)
    | \'\'\' (?: [^'\\] | \\. | '(?!'') )*+ (?:\'\'\'|\Z|\\\Z)
    | " (?: [^"\\\n] | \\. )*+ "?
    | ' (?: [^'\\\n] | \\. )*+ '?
    | \\\n
    | (?P<open>[(\[{])
    | (?P<close>[)\]}])
    | (?P<newline>\n)
    ''',
    re.VERBOSE | re.DOTALL,
)


def comment_out(text: str) -> tuple[str, list[int]]:
    """``text`` with IPython's lines as comments, and their numbers from 1.

    Lines neither appear nor vanish. In a block, where such a line may be all there is, it becomes
    ``pass`` with a comment.
    """
    if not re.search("[!%?]", text):
        return text, []
    parts: list[str] = []
    lines: list[int] = []
    position, line = 0, 1
    while position < len(text):
        magic = _MAGIC.match(text, position)
        if magic:
            end = magic.end() + 1  # with its newline
            part = _comment(text[position:end], magic["indent"])
            lines.append(line)
        else:
            end = _statement_end(text, position)
            part = text[position:end]
        parts.append(part)
        line += part.count("\n")
        position = end
    return "".join(parts), lines


def _comment(magic: str, indent: str) -> str:
    first, *continued = magic.removesuffix("\n").split("\n")
    commented = [f"{indent}{'pass  ' if indent else ''}# {first[len(indent) :]}"]
    commented += [f"# {line}" for line in continued]
    return "\n".join(commented) + ("\n" if magic.endswith("\n") else "")


def _statement_end(text: str, position: int) -> int:
    depth = 0
    for token in _TOKEN.finditer(text, position):
        if token["open"]:
            depth += 1
        elif token["close"]:
            depth = max(0, depth - 1)
        elif token["newline"] and not depth:
            return token.end()
    return len(text)
