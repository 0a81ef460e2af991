"""``grade explain``: an example of the handout step by step, beside a submission's numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from grader.cli import options, output
from grader.cli.errors import as_exit_codes

if TYPE_CHECKING:
    from grader.jobs.protocol import SandboxMode


@click.command
@click.argument("assignment", metavar="ASSIGNMENT")
@click.argument("submission", required=False, metavar="[SUBMISSION]")
@click.option(
    "--example",
    metavar="WHICH",
    help="Number of the example to show, or part of its name (default: the first one that shows "
    "what went wrong).",
)
@options.course
@options.timeout
@options.sandbox
@options.isolate
@options.chain
@options.beside
def command(
    assignment: str,
    submission: str | None,
    example: str | None,
    course: str | None,
    timeout: float | None,
    sandbox: SandboxMode,
    isolate: bool,
    chain: bool,
    beside: str | None,
) -> None:
    """Walk through an example of the handout, up to where your numbers differ.

    SUBMISSION is a file or a folder (default: the file in the course). Nothing is scored. The
    command picks an example on which your results differ; `--example` chooses another. The expected
    numbers come from the handout, and yours from what your code returns.
    """
    from grader.course.loading import course_assignment, load_course
    from grader.course.steps import NoSuchExample, find_example, load_steps
    from grader.explaining.text import show_all
    from grader.jobs.client import GradingProcess
    from grader.jobs.protocol import Options
    from grader.jobs.targets import course_root, resolve_targets
    from grader.report.page import Page

    with as_exit_codes(NoSuchExample):
        word = assignment if submission is None else submission
        root = course_root((word,), course)
        described = course_assignment(load_course(root), assignment)
        examples = load_steps(described)
        chosen = None if example is None else find_example(examples, example)
        target = resolve_targets(
            (word,), assignment=assignment, course=str(root), chain=chain, beside=beside
        )[0]
        grading = Options(
            seed=0, check_seconds=timeout, public_only=True, sandbox=sandbox, chain=chain
        )
        with GradingProcess(isolate=isolate) as process:
            demonstrated = process.demonstrate(target.job(grading))
    page = Page(output.make_console())
    page.heading(described.title)
    page.blank()
    show_all(page, examples, demonstrated, chosen)
