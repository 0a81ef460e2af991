"""``grade test-my-tests``: measure a student's own tests of an assignment."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from grader.cli import options, output
from grader.cli.errors import GradeError, InfrastructureError

if TYPE_CHECKING:
    from grader.jobs.protocol import SandboxMode


@click.command
@click.argument("assignment")
@click.argument("tests", metavar="TESTS.py")
@options.course
@click.option(
    "--output",
    "destination",
    metavar="FILE",
    help="Write JSON, which `grade schema test-my-tests` describes; - means stdout.",
)
@click.option(
    "--fail-under",
    type=click.FloatRange(0, 100),
    metavar="PERCENT",
    help="Exit with 1 if less than this share of the faults is caught.",
)
@click.option(
    "--faults",
    "most_faults",
    type=click.IntRange(min=1),
    metavar="N",
    help="Try at most this many faults, chosen at random (default: all).",
)
@options.seed
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    metavar="SECONDS",
    help="Time limit of one test.",
)
@options.sandbox
@options.isolate
@output.show_option
@click.pass_context
def command(
    ctx: click.Context,
    assignment: str,
    tests: str,
    course: str | None,
    destination: str | None,
    fail_under: float | None,
    most_faults: int | None,
    seed: int | None,
    timeout: float | None,
    sandbox: SandboxMode,
    isolate: bool,
    audience: str | None,
) -> None:
    """Measure tests that a student wrote for ASSIGNMENT.

    TESTS.py holds pytest functions that import the assignment's module by name. They must pass on
    every right answer, and should fail on as many known faults as possible. The command needs the
    course's private files.
    """
    import secrets

    from grader.course.loading import course_assignment, load_course
    from grader.course.model import CourseError
    from grader.jobs.targets import course_root
    from grader.owntests.client import Job, run
    from grader.processes.lines import ProcessFailed
    from grader.report import safe
    from grader.report.files import encode

    if destination is not None:
        output.check_destination(destination)
    try:
        root = course_root((tests,), course)
        job = Job(
            course=str(root),
            assignment=course_assignment(load_course(root), assignment).id,
            tests=str(Path(tests).absolute()),
            seed=secrets.randbits(53) if seed is None else seed,
            sandbox=sandbox,
            isolate=isolate,
            seconds=timeout,
            most_faults=most_faults,
        )
        with output.progress() as bar:
            bar.start(assignment)
            found = run(job, lambda step: bar.count(step.done, step.total))
    except CourseError as error:
        raise GradeError(str(error)) from None
    except ProcessFailed as error:
        kind = GradeError if error.wrong_usage else InfrastructureError
        raise kind(str(error)) from None
    if audience != "instructor":
        found = found.for_student()
    if destination is not None:
        output.save(encode(found), destination)
    if destination != output.STANDARD:
        from grader.owntests.text import lines

        for line in lines(found):
            click.echo(safe.guard(line))
    if fail_under is not None and found.percent < fail_under:
        ctx.exit(1)
