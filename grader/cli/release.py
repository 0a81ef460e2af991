"""``grade release``: write what students and platforms get."""

from __future__ import annotations

from pathlib import Path

import click

from grader.cli import options, output
from grader.cli.errors import as_exit_codes, print_to_stderr


@click.command
@click.argument("folder", required=False, metavar="[DIR]")
@click.option("--gradescope", metavar="FILE", help="Write an autograder's zip for Gradescope.")
@click.option("--prairielearn", metavar="FILE", help="Write a zip with questions for PrairieLearn.")
@click.option(
    "--torch-index",
    default="",
    metavar="URL",
    help="Let Gradescope's machine install torch from this index too: PyTorch has one for the CPU, "
    "without gigabytes of CUDA.",
)
@click.option(
    "--assignment",
    "ids",
    multiple=True,
    metavar="ID",
    help="Assignment to release; can be given several times (default: all of the course).",
)
@options.course
@click.pass_context
def command(
    ctx: click.Context,
    folder: str | None,
    gradescope: str | None,
    prairielearn: str | None,
    torch_index: str,
    ids: tuple[str, ...],
    course: str | None,
) -> None:
    """Write the repository that students start from into DIR.

    It holds only the public files, the grader, a workflow that grades every push, and a README. If
    DIR holds an earlier release, it is updated; other files are never overwritten. The zips of
    --gradescope and --prairielearn hold the private files too.
    """
    from grader.course.loading import load_course
    from grader.integrations.errors import ReleaseError
    from grader.integrations.sides import chosen
    from grader.jobs.targets import course_root

    if folder is None and gradescope is None and prairielearn is None:
        raise click.UsageError("Missing DIR, --gradescope or --prairielearn.", ctx)
    if torch_index and gradescope is None:
        raise click.UsageError("--torch-index works only with --gradescope.", ctx)
    for path in (gradescope, prairielearn):
        if path is not None:
            output.check_destination(path)
    with as_exit_codes(ReleaseError):
        loaded = load_course(course_root((), course))
        assignments = chosen(loaded, ids)
        if gradescope is not None:
            from grader.integrations.gradescope import autograder

            print_to_stderr(f"Making the zip for Gradescope, including the grader: {gradescope}")
            output.save(autograder(loaded, assignments, torch_index=torch_index), gradescope)
        if prairielearn is not None:
            from grader.integrations.prairielearn import questions

            print_to_stderr(
                f"Making the questions for PrairieLearn, including the grader: {prairielearn}"
            )
            output.save(questions(loaded, assignments), prairielearn)
        if folder is not None:
            from grader.integrations.folder import write
            from grader.integrations.student import student_repository

            print_to_stderr(
                "Grading the stubs, to count the points and to check that none is filled in: this "
                "takes a while"
            )
            write(Path(folder), student_repository(loaded, assignments))
    written = ", ".join(path for path in (folder, gradescope, prairielearn) if path is not None)
    print_to_stderr(f"Released {', '.join(one.id for one in assignments)} to {written}")
