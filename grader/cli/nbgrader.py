"""``grade nbgrader``: a course as nbgrader's notebooks."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli.errors import GradeError, as_exit_codes


@click.group
def command() -> None:
    """Turn a course's assignments into notebooks for nbgrader to hand out and grade."""


@command.command()
@click.argument("course", metavar="COURSE_DIR")
@click.option("--assignment", "ids", multiple=True, metavar="ID", help="Only this one; repeatable.")
@click.option(
    "--output",
    "destination",
    metavar="DIR",
    help="nbgrader's folder, for source/ and nbgrader_config.py (default: COURSE_DIR).",
)
@click.option("--force", is_flag=True, help="Overwrite files that differ.")
def build(course: str, ids: tuple[str, ...], destination: str | None, force: bool) -> None:
    """Write source notebooks, and the configuration that lets nbgrader grade them with this grader.

    Then run in that folder: nbgrader generate_assignment ID, autograde ID, generate_feedback ID,
    export.
    """
    from grader.course.loading import course_assignment, load_course
    from grader.integrations.nbgrader.build import BuildError
    from grader.integrations.nbgrader.build import build as build_notebooks
    from grader.report import safe

    try:
        with as_exit_codes(BuildError):
            loaded = load_course(Path(course))
            chosen = [course_assignment(loaded, id) for id in ids or loaded.assignments]
            place = loaded.root if destination is None else Path(destination).absolute()
            written = build_notebooks(loaded, chosen, destination=place, overwrite=force)
    except OSError as error:
        raise GradeError(f"{error.filename}: {error.strerror}") from None
    for path in written:
        click.echo(safe.guard(safe.escape(f"Wrote {path}")))
    if not written:
        click.echo("Nothing to write: all files are up to date.")
