"""Decodes Python files, and prepares their text to be staged as UTF-8.

The text is hostile: it is looked at with regular expressions, and never parsed or run.
"""

from __future__ import annotations

import codecs
import hashlib
import re

import msgspec

from . import magics

MAX_TEXT_BYTES = 1024 * 1024
"""Of one file's code, once it is text in UTF-8."""

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # begins with UTF-16's, so it comes first
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_CODING_LINE = re.compile(
    # On the first line, or on the second after one without code (PEP 263).
    rb"(?:[ \t\f]*+(?:\#[^\r\n]*+)?+(?:\r\n|\r|\n))?+"
    rb"[ \t\f]*+\#[^\r\n]*?coding[:=][ \t]*+([-\w.]+)"
    rb"|[ \t\f]*+\#[^\r\n]*?coding[:=][ \t]*+([-\w.]+)"
)
# They unpack, take quadratic time, or warn about what they read; nobody writes a file in them.
_REFUSED_CODECS = {"idna", "punycode", "undefined", "unicode_escape", "raw_unicode_escape"}
_IMPORT = re.compile(
    r"(?:^|[;:])[ \t]*+(?:from[ \t]++([\w.]++)[ \t]++import\b|import[ \t]++([\w., \t]++))", re.M
)


class Code(msgspec.Struct, frozen=True, kw_only=True):
    """Python code as it will be staged: lines end in ``\\n``, and there is no BOM."""

    text: str
    notes: list[str] = []
    """What was done to it, each a sentence."""
    origins: list[str] | None = None
    """For each line of a notebook's text, where it came from: ``cell 3, line 2``."""
    written: dict[str, Code] = {}
    """Other files that a notebook's ``%%writefile`` cells hold, by their relative names."""

    @property
    def empty(self) -> bool:
        return not self.text.strip()


class SourceFile(msgspec.Struct, frozen=True, kw_only=True):
    """One file of a submission, as text."""

    name: str
    """As handed in, relative to the submission, and fit to be shown."""
    module: str
    """Dotted name that it is imported by; of the main file the assignment file's stem."""
    text: str
    """Lines end in ``\\n``, and are numbered as in the file that was handed in."""
    digest: str
    """SHA-256, in hex, of the bytes that were handed in."""
    definitions_first: bool = False
    """A notebook: its definitions come first, and other statements only where these need them."""
    origins: list[str] | None = None
    """For each line of a notebook's text, where it came from: ``cell 3, line 2``."""

    @classmethod
    def of(cls, code: Code, data: bytes, *, name: str, module: str) -> SourceFile:
        """``code`` as the file that it was read from, of these bytes."""
        return cls(
            name=name,
            module=module,
            text=code.text,
            digest=hashlib.sha256(data).hexdigest(),
            definitions_first=code.origins is not None,
            origins=code.origins,
        )


def read_python(data: bytes) -> Code:
    """A ``.py`` file's content as code; line numbers stay as they are."""
    text, notes = decode(data, coding_line=True)
    text, lines = magics.comment_out(text)
    if lines:
        notes.append(left_out([f"line {line}" for line in lines]))
    return Code(text=staged(text), notes=notes)


def decode(data: bytes, *, coding_line: bool) -> tuple[str, list[str]]:
    """Text by byte order mark, coding line if asked for, UTF-8, else Windows-1252; and notes.

    Lines of the text end in ``\\n``, and it has no BOM and no lone surrogates.
    """
    text, notes = _decode(data, coding_line=coding_line)
    text = text.replace("\r\n", "\n").replace("\r", "\n").lstrip("\ufeff")
    return re.sub(r"[\ud800-\udfff]", "\ufffd", text), notes


def staged(text: str) -> str:
    """``text`` without a coding line, which would contradict the UTF-8 it is staged in."""
    lines = text.split("\n", 2)
    for index, line in enumerate(lines[:2]):
        if re.match(r"[ \t\f]*+#", line):
            lines[index] = re.sub(r"coding(?=[:=])", "coding ", line)
    return "\n".join(lines)


def imported_modules(text: str) -> list[str]:
    """Dotted names that ``text`` seems to import, in order; more rather than fewer."""
    names: dict[str, None] = {}
    for match in _IMPORT.finditer(text):
        origin, listed = match.groups()
        for part in [origin] if origin else listed.split(","):
            words = part.split()
            if words and not words[0].startswith("."):
                names[words[0].strip(".")] = None
    return list(names)


def left_out(places: list[str]) -> str:
    """The note on lines that only IPython runs, at ``places``."""
    return f"Lines that only a notebook understands (!, %, ?) were left out: {few(places)}."


def few(items: list[str], *, most: int = 5) -> str:
    """The first of ``items``, and how many more there are."""
    more = f" and {len(items) - most} more" if len(items) > most else ""
    return "; ".join(items[:most]) + more


def _decode(data: bytes, *, coding_line: bool) -> tuple[str, list[str]]:
    for bom, codec in _BOMS:
        if data.startswith(bom):
            notes = [] if codec == "utf-8" else [f"Read as {codec[:-3].upper()}."]
            try:
                return data[len(bom) :].decode(codec), notes
            except UnicodeDecodeError:
                notes.append("Bytes that the file's encoding does not have were replaced.")
                return data[len(bom) :].decode(codec, "replace"), notes
    notes = []
    match = _CODING_LINE.match(data[:4096]) if coding_line else None
    if match:
        name = (match[1] or match[2]).decode("ascii", "replace")
        try:
            codec = codecs.lookup(name).name
            # The line was read as ASCII, so that is what the codec must make of it too.
            if codec.replace("-", "_") in _REFUSED_CODECS or b"coding".decode(codec) != "coding":
                raise LookupError
            return data.decode(codec), [] if codec == "utf-8" else [f"Read as {codec}."]
        except (LookupError, ValueError):  # not known, not for text, or not what is there
            notes = [f"The coding line says {name[:40]}, as which the file cannot be read."]
    try:
        return data.decode("utf-8"), notes
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace"), [*notes, "Read as Windows-1252."]
