"""``grade run``: grade submissions and show what is wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from grader.cli import delivery, options, output
from grader.cli.errors import as_exit_codes

if TYPE_CHECKING:
    from grader.jobs.protocol import Options
    from grader.jobs.targets import Target
    from grader.report.model import CourseReport, Report


@click.command
@click.argument("targets", nargs=-1, metavar="[TARGET...]")
@options.assignment
@options.course
@click.option(
    "--output", "destination", metavar="FILE", help="Write the JSON report; - means stdout."
)
@delivery.option
@click.option(
    "--fail-under",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="Exit with 1 if less than this share of the points is earned.",
)
@options.beside
@options.grading
@output.show_option
@click.pass_context
def command(
    ctx: click.Context,
    targets: tuple[str, ...],
    assignment: str | None,
    course: str | None,
    destination: str | None,
    formats: tuple[str, ...],
    fail_under: float | None,
    grading: Options,
    audience: str | None,
    beside: str | None,
) -> None:
    """Grade submissions.

    TARGET is an assignment's id (for the file in the course), a file, or a student's folder or
    repository (default: all assignments of the course).
    """
    from grader.jobs.targets import resolve_targets

    wanted = [f"json={destination}", *formats] if destination is not None else list(formats)
    deliveries = delivery.prepare(wanted)
    with as_exit_codes():
        resolved = resolve_targets(
            targets, assignment=assignment, course=course, chain=grading.chain, beside=beside
        )
        report = _grade(resolved, grading)
    report = output.for_audience(report, audience or "student")
    printed = not delivery.takes_stdout(deliveries)
    delivery.deliver(deliveries, report, (lambda: output.print_report(report)) if printed else None)
    if fail_under is not None and report.score.percent < fail_under:
        ctx.exit(1)


def _grade(targets: list[Target], grading: Options) -> Report | CourseReport:
    from grader.jobs.client import GradingProcess
    from grader.report.chaining import mark_open_points
    from grader.report.model import joined

    grading = grading.with_one_seed()
    reports = []
    with GradingProcess(isolate=grading.isolate) as process, output.progress() as bar:
        for target in targets:
            bar.start(target.assignment)
            reports.append(process.grade(target.job(grading), bar.advance))
    if grading.chain:
        reports = mark_open_points(reports)
    return joined(targets[0].course_title, reports)
