"""``grade show``: print saved reports."""

from __future__ import annotations

import click

from grader.cli import output
from grader.cli.errors import GradeError


@click.command
@click.argument("reports", nargs=-1, required=True, metavar="REPORT...")
@output.show_option
@click.option("--json", "as_json", is_flag=True, help="Print each report as JSON instead.")
@click.pass_context
def command(
    ctx: click.Context, reports: tuple[str, ...], audience: str | None, as_json: bool
) -> None:
    """Show saved reports.

    REPORT is a file that `grade run --output` wrote, or - for standard input. A file that cannot
    be shown does not keep the others from being shown; the exit code is 2 then.
    """
    failed = False
    for number, path in enumerate(reports):
        try:
            report = output.for_audience(output.load(path), audience)
        except GradeError as error:
            error.show()
            failed = True
            continue
        if as_json:
            from grader.report.files import encode

            output.print_bytes(encode(report))
            continue
        if number:
            click.echo()
        output.print_report(report)
    if failed:
        ctx.exit(GradeError.exit_code)
