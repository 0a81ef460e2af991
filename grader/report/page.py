"""Writes wrapped, indented lines to a console, with untrusted text escaped."""

from __future__ import annotations

from collections.abc import Sequence

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from grader.report import safe

_WIDEST = 100
"""Longer lines are hard to read, however wide the terminal."""
_NARROWEST = 30

_BLOCKS = " ░▒▓█"
_LETTERS = " .:+#"


class Page:
    """A console for reports. It escapes strings; a ``Text`` must be safe already.

    ``pictures`` says whether to draw numbers as shades too; by default on a terminal that is not a
    dumb one.
    """

    def __init__(self, console: Console, *, pictures: bool | None = None) -> None:
        self.console = console
        drawable = console.is_terminal and not console.is_dumb_terminal
        self.pictures = drawable if pictures is None else pictures
        # One column stays free: some terminals wrap when the last one is filled, and the guard
        # against commands may need it.
        self.width = max(_NARROWEST, min(console.width, _WIDEST)) - 1

    @property
    def ramp(self) -> str:
        """Characters from blank to full, as many and as dark as the console can show."""
        try:
            _BLOCKS.encode(self.console.encoding)
        except (UnicodeEncodeError, LookupError):
            return _LETTERS
        return _BLOCKS

    def blank(self) -> None:
        """An empty line."""
        self._print(Text())

    def line(self, text: Text, *, indent: int = 0, lead: Text | None = None) -> None:
        """One ``Text``; where it wraps, it goes on right of ``lead``."""
        start = Text.assemble(" " * indent, lead or "")
        for part in self._wrap(text, self.width - start.cell_len):
            self._print(Text.assemble(start, part))
            start = Text(" " * start.cell_len)

    def heading(self, text: str) -> None:
        """``text`` in bold, on a line of its own even if it holds line ends."""
        self.line(Text(safe.escape(text), "bold"))

    def paragraph(self, text: str, *, indent: int = 0, label: str = "", style: str = "") -> None:
        """A paragraph for each line of ``text``, the label before the first; nothing for none."""
        lead = Text(safe.escape(label), "bold")
        paragraphs = safe.lines(text)
        if paragraphs and lead.cell_len > self.width // 2:
            self.line(lead, indent=indent)
            lead, indent = Text(), indent + 2
        for paragraph in paragraphs:
            self.line(Text(paragraph, style), indent=indent, lead=lead)
            lead = Text(" " * lead.cell_len)

    def quote(self, text: str, *, indent: int, most: int) -> None:
        """The lines of ``text`` as they are, each behind a bar; the first ``most`` of them."""
        quoted = safe.lines(text)
        for line in quoted[:most]:
            for part in self._wrap(Text(line), self.width - indent - 2):
                self._print(Text.assemble(" " * indent, ("| ", "dim"), part))
        if len(quoted) > most:
            self.paragraph(f"... and {len(quoted) - most} more lines", indent=indent)

    def table(self, rows: Sequence[tuple[Text, str, str]], *, indent: int) -> None:
        """Rows of a word, a text and a figure; the figures stand in one column at the right."""
        words = max((word.cell_len for word, _, _ in rows), default=0) + 2
        figures = max((cell_len(figure) for _, _, figure in rows), default=0)
        longest = max((cell_len(safe.escape(text)) for _, text, _ in rows), default=0)
        column = min(longest, max(10, self.width - indent - words - 2 - figures))
        for word, text, figure in rows:
            start = Text.assemble(" " * indent, word, " " * (words - word.cell_len))
            parts = self._wrap(Text(safe.escape(text)), column)
            for part in parts[:-1]:
                self._print(Text.assemble(start, part))
                start = Text(" " * start.cell_len)
            padding = " " * (column - parts[-1].cell_len + 2)
            self._print(Text.assemble(start, parts[-1], padding, figure.rjust(figures)))

    def _wrap(self, text: Text, width: int) -> list[Text]:
        return list(text.wrap(self.console, max(1, width), overflow="fold")) or [Text()]

    def _print(self, line: Text) -> None:
        line.rstrip()
        start = safe.command_start(line.plain)
        if start is not None:
            line = Text.assemble(line[:start], "\\", line[start:])
        self.console.print(line, soft_wrap=True, highlight=False)
