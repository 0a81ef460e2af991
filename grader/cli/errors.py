"""Errors that know their exit code and how they are shown."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import IO, Any

import click

from grader.report import safe


class GradeError(click.ClickException):
    """Wrong usage, or an unusable course or file: one sentence and exit code 2."""

    exit_code = 2

    def show(self, file: IO[Any] | None = None) -> None:
        """Print the message, which may name files of a student's, as plain text to stderr."""
        print_to_stderr(f"Error: {self.format_message()}", file)


class InfrastructureError(GradeError):
    """The grader itself failed, through no fault of the student: exit code 3."""

    exit_code = 3


@contextlib.contextmanager
def as_exit_codes(*wrong_usage: type[Exception]) -> Iterator[None]:
    """What courses and gradings raise within the block, as errors with their exit codes.

    ``wrong_usage`` are further exceptions whose message tells the user what to fix.
    """
    from grader.course.model import CourseError
    from grader.jobs.client import GradingError

    try:
        yield
    except GradingError as error:
        kind = GradeError if error.wrong_course else InfrastructureError
        raise kind(str(error)) from None
    except CourseError as error:
        raise GradeError(str(error)) from None
    except wrong_usage as error:
        raise GradeError(str(error)) from None


def print_to_stderr(text: str, file: IO[Any] | None = None) -> None:
    """Print lines to stderr (or ``file``), escaped."""
    for line in safe.lines(text):
        click.echo(safe.guard(line), file=file or sys.stderr)
