"""``grade watch``: grade whenever a file is saved."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING

import click

from grader.cli import options, output
from grader.cli.errors import as_exit_codes, print_to_stderr

if TYPE_CHECKING:
    from grader.jobs.protocol import Options
    from grader.jobs.targets import Target
    from grader.watching.events import Event, Verdict


@click.command
@click.argument("target", required=False, metavar="[TARGET]")
@options.assignment
@options.course
@options.beside
@options.grading
@output.show_option
def command(
    target: str | None,
    assignment: str | None,
    course: str | None,
    grading: Options,
    audience: str | None,
    beside: str | None,
) -> None:
    """Grade whenever a file is saved, and show what changed.

    TARGET is an assignment's id, a file or a folder, as for `grade run` (default: the first
    assignment of the course). When an assignment has full marks, the next one follows. Press Ctrl-C
    to stop.
    """
    from grader.watching.targets import watched
    from grader.watching.watch import Watch

    view = _View(audience or "student")
    with as_exit_codes():
        loaded, targets, start = watched(
            target, assignment=assignment, course=course, chain=grading.chain, beside=beside
        )
        with Watch(targets, start, loaded, grading) as watch, contextlib.closing(view):
            for event in watch:
                view.show(event)


class _View:
    """Shows a watch: the newest verdict on a terminal, one below the other anywhere else."""

    def __init__(self, audience: str) -> None:
        self._audience = audience
        self._console = output.make_console()
        self._bar: output.Bar | None = None

    def show(self, event: Event) -> None:
        """Show what happened."""
        from grader.watching.events import Started, Step, Trouble, Verdict

        match event:
            case Started():
                self._begin(event.target)
            case Step():
                if self._bar is not None:
                    self._bar.advance(event.progress)
            case Verdict():
                self.close()
                self._verdict(event)
            case Trouble():
                self.close()
                print_to_stderr(f"{event.target.assignment} could not be graded: {event.message}")

    def close(self) -> None:
        """Take the bar off the screen."""
        if self._bar is not None:
            self._bar.progress.stop()
            self._bar = None

    def _begin(self, target: Target) -> None:
        self.close()
        self._bar = output.Bar(self._console)
        self._bar.progress.start()
        self._bar.start(target.assignment)

    def _verdict(self, verdict: Verdict) -> None:
        from grader.report.page import Page
        from grader.report.verdict_text import show_verdict

        report = verdict.report.for_student() if self._audience == "student" else verdict.report
        page = Page(self._console, pictures=output.pictures_wanted())
        if verdict.is_next:
            page.blank()
        elif self._console.is_terminal and self._console.is_interactive:
            self._console.clear()
        else:
            page.blank()
        aside = time.strftime("%H:%M:%S")
        if verdict.seconds is not None:
            aside += f", {verdict.seconds:.1f} s after it was saved"
        show_verdict(page, report, verdict.before, aside=aside)
        page.blank()
        page.paragraph(_what_now(verdict), style="bold")


def _what_now(verdict: Verdict) -> str:
    """The last line: what is waited for."""
    place = verdict.target.submission.name
    score = verdict.report.score
    if score.earned < score.possible:
        return f"Waiting for {place} to be saved; press Ctrl-C to stop."
    if verdict.following is None:
        return "Full marks. Press Ctrl-C to stop."
    return f"Full marks. Next: {verdict.following.assignment}"
