"""``grade report``: show a batch as web pages."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.errors import GradeError, InfrastructureError, print_to_stderr


@click.command
@click.argument("folder", metavar="DIR")
@click.option(
    "--anonymous",
    "without_names",
    is_flag=True,
    help="Show numbers instead of names, in a separate folder that can be shown in class.",
)
def command(folder: str, without_names: bool) -> None:
    """Show a batch as web pages.

    DIR is the folder of `grade batch --output`. The command writes class.html there, which shows
    what to teach next and who needs attention, and a page for each report.
    """
    from grader.batch.class_page import write_pages
    from grader.batch.errors import BatchError
    from grader.report import safe
    from grader.report.files import ReportError
    from grader.report.words import count

    try:
        place, graded = write_pages(Path(folder), without_names=without_names)
    except (BatchError, ReportError) as error:
        raise GradeError(str(error)) from None
    except OSError as error:
        raise InfrastructureError(f"cannot write {error.filename}: {error.strerror}") from None
    for problem in graded.unreadable:
        print_to_stderr(f"Left out, because it cannot be read: {problem}")
    said = f"{place}, with {count(len(graded.entries), 'page')} of reports"
    click.echo(safe.guard(safe.escape(said)))
