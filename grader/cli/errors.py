"""Errors that know their exit code and how they are shown."""

from __future__ import annotations

import sys
from typing import IO, Any

import click

from grader.report import safe


class GradeError(click.ClickException):
    """Wrong usage, or a course or file that cannot be used: said in a sentence, exit code 2."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message, which may name files of a student's, as plain text to stderr."""
        complain(f"Error: {self.format_message()}", file)


class InfrastructureError(GradeError):
    """The grader itself could not do its work, and no student is to blame: exit code 3."""

    exit_code = 3


def complain(text: str, file: IO[Any] | None = None) -> None:
    """Print lines to stderr (or ``file``), escaped."""
    for line in safe.lines(text):
        click.echo(safe.guard(line), file=file or sys.stderr)
