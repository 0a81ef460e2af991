"""What commands share: the console, the audience, and reading and writing reports."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from grader.cli import options
from grader.cli.errors import GradeError, InfrastructureError

# The report model and rich are imported where they are used: `grade --help` needs neither.
if TYPE_CHECKING:
    from rich.console import Console

    from grader.audit.model import Audit
    from grader.batch.model import Result
    from grader.batch.plan import Plan
    from grader.jobs.protocol import Progress as Progressed
    from grader.report.model import CourseReport, Report

STANDARD = "-"
"""The path that means standard input or output."""

_PLAIN_WIDTH = 80

show_option = click.option(
    "--show",
    "audience",
    type=click.Choice(["student", "instructor"]),
    help="Audience: students do not see the details and the output of hidden checks.",
)


def make_console(*, stderr: bool = False) -> Console:
    """A console on stdout or stderr that suits where it goes.

    Colour on a terminal only, unless NO_COLOR or FORCE_COLOR says otherwise; 80 columns where
    there is no terminal; nothing that moves in a CI log.
    """
    from rich.console import Console

    class _Console(Console):
        def on_broken_pipe(self) -> None:
            # rich would exit with code 1, which here means graded but under the limit.
            raise BrokenPipeError

    stream = sys.stderr if stderr else sys.stdout
    return _Console(
        stderr=stderr,
        width=None if stream.isatty() else _PLAIN_WIDTH,
        force_interactive=False if os.environ.get("CI") else None,
        highlight=False,
        markup=False,
        emoji=False,
    )


class Bar:
    """Shows the progress of a grading as a moving line on a terminal, and nothing elsewhere."""

    def __init__(self, console: Console) -> None:
        from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

        self.progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            console=console,
            transient=True,
            disable=not console.is_terminal or not console.is_interactive,
        )
        self._task: Any = None

    def start(self, title: str) -> None:
        """Start the next submission; the line for the previous one goes."""
        if self._task is not None:
            self.progress.remove_task(self._task)
        self._task = self.progress.add_task(title, total=None)

    def advance(self, event: Progressed) -> None:
        """A check has ended."""
        self.count(event.done, event.total)

    def count(self, done: int, total: int) -> None:
        """Show how many are done."""
        self.progress.update(self._task, total=total, completed=done)


@contextlib.contextmanager
def progress() -> Iterator[Bar]:
    """A bar on stderr while the block runs."""
    bar = Bar(make_console(stderr=True))
    with bar.progress:
        yield bar


@contextlib.contextmanager
def batch_progress(plan: Plan) -> Iterator[Callable[[Result], None]]:
    """A bar on stderr with rate and time left; where there is no terminal, a line a submission."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    from grader.report import safe

    console = make_console(stderr=True)
    total = len(plan.tasks)
    moves = console.is_terminal and console.is_interactive
    bar = Progress(
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[rate]}"),
        TimeRemainingColumn(compact=True),
        TextColumn("{task.description}"),
        console=console,
        transient=True,
        disable=not moves,
    )
    task = bar.add_task("", total=total, rate="")
    done = 0

    def advance(result: Result) -> None:
        nonlocal done
        done += 1
        who = safe.escape(", ".join(result.students))
        if not moves:
            click.echo(safe.guard(f"{done}/{total} {who}: {_in_short(result)}"), err=True)
            return
        speed = bar.tasks[task].finished_speed or bar.tasks[task].speed
        rate = f"{speed:.1f}/s" if speed else ""
        bar.update(task, advance=1, description=who, rate=rate)

    with bar:
        yield advance


def _in_short(result: Result) -> str:
    score = "" if result.earned is None else f" {result.earned}/{result.possible}"
    status = "" if result.status == "graded" else f" {result.status}"
    how_long = "kept" if result.kept else f"{result.duration_s:.1f} s"
    return f"{result.assignment}{score}{status}, {how_long}"


def for_audience(report: Report | CourseReport, audience: str | None) -> Report | CourseReport:
    """The report as ``audience`` may see it; None leaves it as it is."""
    return report.for_student() if audience == "student" else report


def print_report(report: Report | CourseReport) -> None:
    """Print a readable report to stdout."""
    from grader.report.text import render

    render(report, make_console(), pictures=pictures_wanted())


def pictures_wanted() -> bool | None:
    """Whether to draw weights as shades; None for what suits the console.

    GRADE_PICTURES=0 leaves them out, for who has the screen read aloud, and 1 draws them anywhere.
    In a CI log, which is looked at, they are drawn too.
    """
    if os.environ.get("GRADE_PICTURES"):
        return options.is_on("GRADE_PICTURES")
    return True if options.is_on("CI") else None


def print_audit(audit: Audit) -> None:
    """Print a readable audit to stdout."""
    from grader.audit.text import lines
    from grader.report import safe

    for line in lines(audit):
        click.echo(safe.guard(line))


def print_bytes(data: bytes, *, stderr: bool = False) -> None:
    """Write an encoded report to stdout, byte for byte."""
    stream = sys.stderr if stderr else sys.stdout
    stream.flush()
    stream.buffer.write(data)
    stream.buffer.flush()


def check_destination(path: str) -> None:
    """Refuse a path to which no report can be written, before the work rather than after.

    Raises:
        GradeError: with what is wrong with it.
    """
    from grader.report import files

    if path == STANDARD:
        return
    try:
        files.check_destination(path)
    except files.ReportError as error:
        raise GradeError(str(error)) from None


def save(data: bytes, path: str) -> None:
    """Write an encoded report to ``path``, whole or not at all; ``-`` is stdout.

    Raises:
        GradeError: no report can be written there.
        InfrastructureError: the system refused to write, for example because the disk is full.
    """
    from grader.report import files

    if path == STANDARD:
        print_bytes(data)
        return
    try:
        files.write_atomically(path, data)
    except files.ReportError as error:
        raise GradeError(str(error)) from None
    except OSError as error:
        raise InfrastructureError(f"cannot write {path}: {error.strerror or error}") from None


def load(path: str) -> Report | CourseReport:
    """The report in the file ``path``; ``-`` is stdin.

    Raises:
        GradeError: there is no such file, or it holds no report.
    """
    from grader.report import files

    name = "standard input" if path == STANDARD else path
    try:
        data = sys.stdin.buffer.read() if path == STANDARD else Path(path).read_bytes()
        return files.decode(data)
    except files.ReportError as error:
        raise GradeError(f"{name}: {error}") from None
    except (OSError, ValueError) as error:
        reason: Any = error.strerror if isinstance(error, OSError) else error
        raise GradeError(f"{name}: {reason}") from None
