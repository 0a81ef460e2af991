"""Writes reports in the formats that ``--format`` names."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli import output
from grader.cli.errors import GradeError, InfrastructureError

# msgspec and the formats are imported where they are used: `grade --help` needs neither.
if TYPE_CHECKING:
    from grader.report.formats import AnyReport, Format

option = click.option(
    "--format",
    "formats",
    multiple=True,
    metavar="NAME[=FILE]",
    help="Write the report in this format too, to FILE or its usual file; - means stdout. Can be "
    "given several times; `grade export --list` lists the formats.",
)


@dataclass(frozen=True)
class Delivery:
    """One format, and where it goes: as ``Format.destination`` says it."""

    format: Format
    destination: str


def prepare(words: Sequence[str]) -> list[Delivery]:
    """Parse ``NAME[=FILE]`` words, before the work rather than after.

    Raises:
        GradeError: there is no such format, or nothing can be written where it would go.
        InfrastructureError: a format is registered that does not work.
    """
    deliveries: list[Delivery] = []
    named = {word.partition("=")[0] for word in words}
    for word in words:
        name, equals, path = word.partition("=")
        if equals and not path:
            raise GradeError(f"--format {word}: expected a file after the =, or no =")
        format = _find(name)
        deliveries.append(Delivery(format, path or format.destination))
        if not equals:
            along = [_find(other) for other in format.along if other not in named]
            deliveries += [Delivery(other, other.destination) for other in along]
    _check(deliveries)
    return deliveries


def _find(name: str) -> Format:
    from grader.report import formats

    try:
        return formats.find(name)
    except formats.UnknownFormat as error:
        raise GradeError(f"--format: {error}") from None
    except formats.FormatError as error:
        raise InfrastructureError(str(error)) from None


def _check(deliveries: Sequence[Delivery]) -> None:
    seen: dict[str, str] = {}
    for one in deliveries:
        name, place = one.format.name, one.destination
        if place.startswith("$"):
            _file_of_environment(one)
            continue
        key = place if place == output.STANDARD else os.path.realpath(place)
        if key in seen:
            where = "standard output" if place == output.STANDARD else place
            raise GradeError(
                f"{seen[key]} and {name} would both be written to {where}; use --format {name}=FILE"
            )
        seen[key] = name
        output.check_destination(place)


def _file_of_environment(one: Delivery) -> str | None:
    """The file that the environment names for it; None for the log."""
    from grader.report.formats import LOG

    if one.destination == LOG:
        return None
    path = os.environ.get(one.destination.removeprefix("$"))
    if not path:
        name = one.format.name
        raise GradeError(
            f"the format {name!r} goes to the file that {one.destination} names, which is not set "
            f"here; to write it elsewhere, use --format {name}=FILE"
        )
    return path


def files(deliveries: Sequence[Delivery]) -> list[str]:
    """The paths of the files that they are written to."""
    return [
        one.destination
        for one in deliveries
        if one.destination != output.STANDARD and not one.destination.startswith("$")
    ]


def takes_stdout(deliveries: Sequence[Delivery]) -> bool:
    """Whether one of them takes over standard output."""
    return any(one.destination == output.STANDARD for one in deliveries)


def _is_printed(one: Delivery) -> bool:
    from grader.report.formats import LOG

    return one.destination in (output.STANDARD, LOG)


def deliver(
    deliveries: Sequence[Delivery], report: AnyReport, show: Callable[[], None] | None = None
) -> None:
    """Write all of them, even if one fails.

    What goes to standard output comes last, as whoever reads it may go away: ``show``, which may
    print the report, then the formats.

    Raises:
        GradeError, InfrastructureError: as the first that could not be written.
    """
    problems: list[GradeError] = []
    log_to_stderr = takes_stdout(deliveries)

    def write(chosen: Iterable[Delivery]) -> None:
        for one in chosen:
            try:
                _deliver(one, report, log_to_stderr)
            except GradeError as problem:
                problems.append(problem)

    write(one for one in deliveries if not _is_printed(one))
    if show is not None:
        show()
    write(filter(_is_printed, deliveries))
    for other in problems[1:]:
        other.show()
    if problems:
        raise problems[0]


def _deliver(one: Delivery, report: AnyReport, log_to_stderr: bool) -> None:
    from grader.report.formats import FormatError

    try:
        content = one.format(report)
    except FormatError as error:
        raise InfrastructureError(str(error)) from None
    if not one.destination.startswith("$"):
        output.save(content, one.destination)
        return
    path = _file_of_environment(one)
    if path is None:
        output.print_bytes(content, stderr=log_to_stderr)
        return
    try:
        with Path(path).open("ab") as file:
            file.write(content)
    except OSError as error:
        raise InfrastructureError(
            f"cannot write to {one.destination}: {error.strerror or error}"
        ) from None
