"""``grade schema``: print the schemas of the JSON that commands write."""

from __future__ import annotations

from typing import Literal

import click

from grader.cli import output


@click.command
@click.argument("what", type=click.Choice(["report", "test-my-tests"]), default="report")
def command(what: Literal["report", "test-my-tests"]) -> None:
    """Print the JSON Schema of a report, or of the output of `test-my-tests`."""
    if what == "report":
        from grader.report.schema import schema_text
    else:
        from grader.owntests.schema import schema_text

    output.print_bytes(schema_text().encode())
