"""``grade run``: grade submissions and show what is wrong with them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from grader.cli import delivery, options, output
from grader.cli.errors import GradeError, InfrastructureError

if TYPE_CHECKING:
    from grader.report.model import CourseReport, Report
    from grader.session.protocol import SandboxMode
    from grader.session.targets import Target


@click.command
@click.argument("targets", nargs=-1, metavar="[TARGET...]")
@options.assignment
@options.course
@click.option("--output", "destination", metavar="FILE", help="Write the JSON report; - is stdout.")
@delivery.option
@click.option(
    "--fail-under",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="Exit with 1 if less than this share of the points is earned.",
)
@options.seed
@options.timeout
@options.public_only
@options.sandbox
@options.isolate
@options.chain
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
    seed: int | None,
    timeout: float | None,
    public_only: bool,
    sandbox: SandboxMode,
    isolate: bool,
    chain: bool,
    audience: str | None,
) -> None:
    """Grade submissions.

    A TARGET is an assignment's id, meaning the file in the course; a file; or a student's folder
    or repository. Without any, every assignment of the course is graded.
    """
    from grader.course.model import CourseError
    from grader.session.targets import resolve_targets

    wanted = [f"json={destination}", *formats] if destination is not None else list(formats)
    deliveries = delivery.prepare(wanted)
    try:
        resolved = resolve_targets(targets, assignment=assignment, course=course, chain=chain)
    except CourseError as error:
        raise GradeError(str(error)) from None
    report = _grade(resolved, seed, timeout, public_only, sandbox, isolate, chain)
    report = output.for_audience(report, audience or "student")
    printed = not delivery.takes_stdout(deliveries)
    delivery.deliver(deliveries, report, (lambda: output.print_report(report)) if printed else None)
    if fail_under is not None and report.score.percent < fail_under:
        ctx.exit(1)


def _grade(
    targets: list[Target],
    seed: int | None,
    timeout: float | None,
    public_only: bool,
    sandbox: SandboxMode,
    isolate: bool,
    chain: bool,
) -> Report | CourseReport:
    import secrets

    from grader.report.chaining import mark_open_points
    from grader.report.model import joined
    from grader.session.client import GradingError, GradingProcess

    chosen = secrets.randbits(53) if seed is None else seed
    reports = []
    try:
        with GradingProcess(isolate=isolate) as process, output.progress() as bar:
            for target in targets:
                bar.start(target.assignment)
                job = target.job(
                    seed=chosen,
                    check_seconds=timeout,
                    public_only=public_only,
                    sandbox=sandbox,
                    chain=chain,
                )
                reports.append(process.grade(job, bar.advance))
    except GradingError as error:
        kind = GradeError if error.wrong_course else InfrastructureError
        raise kind(str(error)) from None
    if chain:
        reports = mark_open_points(reports)
    return joined(targets[0].course_title, reports)
