"""Reports as HTML for notebooks: what a terminal would show, with its colours."""

from __future__ import annotations

import io
from collections.abc import Callable

from rich.console import Console

_WIDTH = 88
_FRAME = '<pre style="white-space:pre; overflow-x:auto; line-height:normal">{code}</pre>'


def html(show: Callable[[Console], None]) -> str:
    """What ``show`` prints to the console it is given, as an element of HTML."""
    console = _console(record=True, force_terminal=True, color_system="truecolor")
    show(console)
    return console.export_html(inline_styles=True, code_format=_FRAME)


def plain(show: Callable[[Console], None]) -> str:
    """What ``show`` prints to the console it is given, as lines of text."""
    console = _console(record=True)
    show(console)
    return console.export_text().strip("\n")


def _console(**options: object) -> Console:
    return Console(
        file=io.StringIO(),
        width=_WIDTH,
        highlight=False,
        markup=False,
        emoji=False,
        legacy_windows=False,
        **options,  # type: ignore[arg-type]
    )
