"""``grade grades``: write a batch's grades for a learning platform to import."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli import output
from grader.cli.errors import GradeError, print_to_stderr


@click.command
@click.argument("folder", metavar="DIR")
@click.option(
    "--for",
    "platform",
    required=True,
    type=click.Choice(["blackboard", "canvas", "moodle"]),
    help="Platform that imports the grades.",
)
@click.option(
    "--roster", required=True, metavar="FILE", help="The platform's own list of its students."
)
@click.option("--assignment", metavar="ID", help="Write only the grades of this assignment.")
@click.option("--output", "destination", metavar="FILE", help="File to write (default: stdout).")
@click.pass_context
def command(
    ctx: click.Context,
    folder: str,
    platform: str,
    roster: str,
    assignment: str | None,
    destination: str | None,
) -> None:
    """Write the grades of a batch for import into a learning platform.

    DIR is the folder of `grade batch --output`. Students are found in the roster by the platform's
    id, by login, by e-mail address, or else by a name that only one of them has. The command lists
    students without a match, and columns whose maximum differs on the platform. If there are any,
    it exits with 1.
    """
    from grader.batch.errors import BatchError
    from grader.batch.gradebooks import GRADEBOOKS
    from grader.batch.gradebooks.api import grades_for
    from grader.report.words import count

    place = destination or output.STANDARD
    output.check_destination(place)
    try:
        grades = grades_for(GRADEBOOKS[platform], Path(folder), Path(roster), assignment=assignment)
    except BatchError as error:
        raise GradeError(str(error)) from None
    output.save(grades.table, place)
    matching = grades.matching
    print_to_stderr(f"{count(len(matching.found), 'student')} matched")
    for student, why in matching.unmatched:
        print_to_stderr(f"Not matched: {student}: {why}")
    for person in matching.silent:
        print_to_stderr(f"Nothing handed in: {', '.join(filter(None, list(person.values())[:4]))}")
    for column, theirs, ours in grades.other_points:
        print_to_stderr(
            f"Other points: {column!r} is out of {theirs:g} in the roster, and out of {ours} here. "
            f"Set it to {ours} in {platform.capitalize()} before you import"
        )
    if matching.unmatched or grades.other_points:
        ctx.exit(1)
