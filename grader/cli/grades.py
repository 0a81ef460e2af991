"""``grade grades``: a batch's grades, for a learning platform to import."""

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
    help="Which platform imports it.",
)
@click.option(
    "--roster", required=True, metavar="FILE", help="The platform's own list of its students."
)
@click.option("--assignment", metavar="ID", help="Write the grades of this assignment alone.")
@click.option(
    "--output", "destination", metavar="FILE", help="Where to write it (default: stdout)."
)
@click.pass_context
def command(
    ctx: click.Context,
    folder: str,
    platform: str,
    roster: str,
    assignment: str | None,
    destination: str | None,
) -> None:
    """Write the grades in DIR, which `grade batch` made, as a platform imports them.

    The roster maps students to people: by the id that the platform gave them, by login, by e-mail
    address, or else by a name that only one of them has. Whoever is not matched is listed, and so
    is a column whose maximum is another one on the platform; the exit code is 1 then.
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
