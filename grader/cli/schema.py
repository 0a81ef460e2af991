"""``grade schema``: print what a report looks like."""

from __future__ import annotations

import click

from grader.cli import output


@click.command
def command() -> None:
    """Print the JSON Schema of a report."""
    from grader.report.schema import schema_text

    output.print_bytes(schema_text().encode())
