"""``grade export``: write saved reports in the formats that other systems read."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli import delivery, output
from grader.cli.errors import GradeError, print_to_stderr

_PLACE = "{report}"


@click.command
@click.argument("reports", nargs=-1, metavar="REPORT...")
@delivery.option
@click.option("--list", "list_them", is_flag=True, help="List the formats and exit.")
@output.show_option
@click.pass_context
def command(
    ctx: click.Context,
    reports: tuple[str, ...],
    formats: tuple[str, ...],
    list_them: bool,
    audience: str | None,
) -> None:
    """Write saved reports in other formats.

    REPORT is a file that `grade run --output` or `grade batch` wrote, or - for standard input.
    Several become one document, unless FILE holds {report}: then each has a file of its own, with
    the name of its REPORT there. Nothing is written unless every REPORT can be read.
    """
    from grader.report.formats.items import reports as parts
    from grader.report.model import joined

    if list_them:
        _list()
        return
    if not reports:
        raise click.UsageError("Missing argument 'REPORT...'.", ctx)
    if not formats:
        raise click.UsageError(
            "Missing option '--format'; `grade export --list` lists the formats.", ctx
        )
    loaded = {path: output.for_audience(output.load(path), audience) for path in reports}
    apart = [word for word in formats if _PLACE in word]
    together = [word for word in formats if _PLACE not in word]
    everything = [part for report in loaded.values() for part in parts(report)]
    whole = next(iter(loaded.values())) if len(loaded) == 1 else joined("Reports", everything)
    work = [(delivery.prepare(together), whole)]
    written: set[str] = set()
    for path, report in loaded.items():
        # By the name of its file, for the names in a report are a student's to choose.
        words = [word.replace(_PLACE, Path(path).stem) for word in apart]
        if not written.isdisjoint(words):
            raise GradeError(f"{path}: another REPORT has the same name, {Path(path).stem}")
        written.update(words)
        work.append((delivery.prepare(words), report))
    for deliveries, report in work:
        places = {place: Path(place).exists() for place in delivery.files(deliveries)}
        delivery.deliver(deliveries, report)
        for place, was_there in places.items():
            print_to_stderr(f"Wrote {place}{', replacing what was there' if was_there else ''}")


def _list() -> None:
    from grader.report import formats

    for name in formats.names():
        try:
            found = formats.find(name)
        except formats.FormatError as error:
            click.echo(f"{name}: does not work. {error}")
            continue
        place = (
            "stdout" if found.destination in (formats.STANDARD, formats.LOG) else found.destination
        )
        click.echo(f"{name} (to {place}): {found.help}")
