"""The formats of reports: one module for each, found by its entry point.

Whoever wants another one makes a ``Format`` and registers it in a package of their own, under the
group ``attention_grader.formats``.
"""

from grader.report.formats.registry import (
    GROUP,
    LOG,
    STANDARD,
    AnyReport,
    BrokenFormat,
    Format,
    FormatError,
    UnknownFormat,
    find,
    names,
)

__all__ = [
    "GROUP",
    "LOG",
    "STANDARD",
    "AnyReport",
    "BrokenFormat",
    "Format",
    "FormatError",
    "UnknownFormat",
    "find",
    "names",
]
