"""Formats, and how to find one by its name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from typing import Final, TypeAlias

from grader.report.model import CourseReport, Report
from grader.report.words import nearest

AnyReport: TypeAlias = Report | CourseReport

GROUP: Final = "attention_grader.formats"
"""The group of entry points; each leads to a :class:`Format` that is called like it."""

STANDARD: Final = "-"
"""The destination that is standard output, which nothing else is then printed to."""

LOG: Final = "$LOG"
"""The destination that is standard output too, beside whatever else is printed there."""


class FormatError(Exception):
    """A report cannot be written in a format; the text says why, and what to do."""


class UnknownFormat(FormatError):
    """There is no format of that name."""


class BrokenFormat(FormatError):
    """A format is registered but does not work."""


@dataclass(frozen=True, kw_only=True)
class Format:
    """How a report is written for one reader."""

    name: str
    help: str
    """Who reads it, on one line."""
    export: Callable[[AnyReport], bytes]
    """Makes the file's content of a report. It reads and writes nothing else."""
    destination: str = STANDARD
    """Where it goes if nobody says: ``STANDARD``, ``LOG``, a file's name, or ``$VARIABLE`` for the
    end of the file that the environment names."""
    along: tuple[str, ...] = ()
    """Names of the formats that are written with it, where nobody says where it goes."""

    def __call__(self, report: AnyReport) -> bytes:
        """The file's content.

        Raises:
            BrokenFormat: the format fails on this report, or makes no bytes of it.
        """
        try:
            content = self.export(report)
        except FormatError:
            raise
        except Exception as error:
            raise BrokenFormat(
                f"the format {self.name!r} failed: {type(error).__name__}: {error}"
            ) from error
        if not isinstance(content, bytes):
            raise BrokenFormat(
                f"the format {self.name!r} failed: its export gave {type(content).__name__}, "
                "not bytes"
            )
        return content


def names() -> list[str]:
    """The names of all formats that are installed."""
    return sorted({point.name for point in metadata.entry_points(group=GROUP)})


def find(name: str) -> Format:
    """The format called ``name``.

    Raises:
        UnknownFormat: there is none; the text names the nearest, or all.
        BrokenFormat: it cannot be imported, is no ``Format``, or two packages provide it.
    """
    points = metadata.entry_points(group=GROUP, name=name)
    if not points:
        known = names()
        near = nearest(name, known)
        expected = f"did you mean {near!r}?" if near else f"there are {', '.join(known)}"
        raise UnknownFormat(f"there is no format {name!r}; {expected}")
    places = {point.value for point in points}
    if len(places) > 1:
        raise BrokenFormat(
            f"the format {name!r} is provided more than once, by {', '.join(sorted(places))}; "
            "remove the package that should not"
        )
    (place,) = places
    try:
        found = next(iter(points)).load()
    except Exception as error:
        raise BrokenFormat(
            f"the format {name!r} cannot be loaded from {place}: {type(error).__name__}: {error}"
        ) from error
    if not isinstance(found, Format) or found.name != name:
        raise BrokenFormat(
            f"the format {name!r} cannot be used: {place} is not a grader.report.formats.Format of "
            "that name"
        )
    return found
