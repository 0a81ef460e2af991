"""``grade new``: start an assignment from a working example."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from grader.cli.errors import GradeError

_WHAT = {
    "handout": "the handout, which is all that students read",
    "assignment": "what is handed in, and the names in it",
    "stub": "the stub that students fill in",
    "public": "the public checks: the handout's example",
    "reference": "the reference that everything is compared with",
    "faults": "known faults, as edits of the reference",
    "accepted": "a right answer written differently",
    "equivalent": "small changes of the reference that no check can detect",
    "suite": "the hidden checks",
}


@click.command
@click.argument("assignment")
@click.option(
    "--course",
    metavar="DIR",
    help="Folder of the course (default: the course that holds this folder); it may be new.",
)
def command(assignment: str, course: str | None) -> None:
    """Start an assignment from a working example.

    Creates the three parts of ASSIGNMENT in a course: handout and stub, reference and faults, and
    hidden checks. They hold a small example that passes the audit, for you to change into your own.
    """
    from grader.course.loading import find_course
    from grader.course.model import CourseError
    from grader.course.new import make_assignment

    try:
        root = Path(course).absolute() if course is not None else find_course(Path.cwd())
    except CourseError as error:
        raise GradeError(f"{error} (--course . creates one here)") from None
    try:
        made = make_assignment(root, assignment)
    except CourseError as error:
        raise GradeError(str(error)) from None
    option = "" if Path.cwd().is_relative_to(root) else f" --course {shlex.quote(str(root))}"
    click.echo(f"Created {assignment}, a working example for you to change:")
    paths = {what: _shown(path) for what, path in made.items()}
    width = max(map(len, paths.values()))
    for what, path in paths.items():
        click.echo(f"  {path:<{width}}  {_WHAT[what]}")
    click.echo(
        "\nNext, change the handout, then the reference, then one check at a time, and audit them"
        f"\nas you go. So far, nothing falls short:\n\n  grade audit {assignment}{option}"
    )


def _shown(path: Path) -> str:
    """``path`` as seen from this folder, if it is below it."""
    here = Path.cwd()
    return click.format_filename(path.relative_to(here) if path.is_relative_to(here) else path)
