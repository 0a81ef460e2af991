"""``grade audit``: measure the suites of a course."""

from __future__ import annotations

import os
from pathlib import Path

import click

from grader.cli import output
from grader.cli.errors import GradeError


@click.command
@click.argument("assignments", nargs=-1, metavar="[ASSIGNMENT...]")
@click.option(
    "--course",
    metavar="DIR",
    help="Folder of the course (default: the course that holds this folder).",
)
@click.option(
    "--seeds",
    type=click.IntRange(1, 10_000),
    default=5,
    show_default=True,
    help="Number of seeds to run right answers and faults with.",
)
@click.option(
    "--pairs",
    "most_pairs",
    type=click.IntRange(min=0),
    help="Try at most this many pairs of faults, chosen at random (default: all).",
)
@click.option("--output", "destination", metavar="FILE", help="Write JSON; - means stdout.")
@click.option("--html", "page", metavar="FILE", help="Write a page with the kill matrix.")
@click.pass_context
def command(
    ctx: click.Context,
    assignments: tuple[str, ...],
    course: str | None,
    seeds: int,
    most_pairs: int | None,
    destination: str | None,
    page: str | None,
) -> None:
    """Test the hidden suites with known faults.

    Runs the hidden suite of each ASSIGNMENT (default: all of the course) on every fault, every
    pair of faults, every accepted variant, the stub, and generic mutants of the reference. Exits
    with 1 if anything falls short.
    """
    from msgspec import json

    from grader.audit.client import Job, run
    from grader.course.loading import course_assignment, find_course, load_course
    from grader.course.model import CourseError
    from grader.processes.lines import ProcessFailed

    for path in (destination, page):
        if path is not None:
            output.check_destination(path)
    try:
        root = Path(course).absolute() if course else find_course(Path.cwd())
        loaded = load_course(root)
        chosen = [course_assignment(loaded, name).id for name in assignments]
        job = Job(
            course=os.fsencode(root),
            assignments=chosen or list(loaded.assignments),
            seeds=seeds,
            most_pairs=most_pairs,
        )
        audits = []
        for audit in run(job, on_step=lambda text: click.echo(text, err=True)):
            audits.append(audit)
            if destination != output.STANDARD:
                output.print_audit(audit)
    except (CourseError, ProcessFailed) as error:
        raise GradeError(str(error)) from None
    if destination is not None:
        output.save(json.format(json.encode(audits)), destination)
    if page is not None:
        from grader.audit.page import render

        output.save(render(audits).encode(), page)
    if any(audit.shortcomings for audit in audits):
        ctx.exit(1)
