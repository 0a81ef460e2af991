"""``grade batch``: grade the submissions of a class."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import click

from grader.cli import options, output
from grader.cli.errors import GradeError, InfrastructureError, as_exit_codes, print_to_stderr

if TYPE_CHECKING:
    from grader.batch.api import Batch
    from grader.batch.model import Summary
    from grader.batch.plan import Plan
    from grader.batch.pool import Pool
    from grader.course.model import Course
    from grader.jobs.protocol import Options


def _list_layouts(ctx: click.Context, _: click.Parameter, name: str | None) -> str | None:
    """Check the name of a layout; ``list`` prints them all, whatever else is given."""
    from grader.batch.recognise import all_layouts

    if name is None or ctx.resilient_parsing:
        return None
    layouts = all_layouts()
    if name == "list":
        for each, layout in layouts.items():
            click.echo(f"{each:{max(map(len, layouts))}}  {layout.TITLE}")
        ctx.exit()
    if name not in layouts:
        raise click.BadParameter(f"there is no layout {name!r}, but {', '.join(layouts)}.")
    return name


@click.command
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@click.option(
    "--output",
    "destination",
    required=True,
    metavar="DIR",
    help="Folder for reports/, grades.csv and summary.json; a later run adds to it.",
)
@click.option(
    "--pattern",
    metavar="PATTERN",
    help="How to find names in the paths below PATH: '{student}/{assignment}.py', or a regular "
    "expression with (?P<student>...).",
)
@click.option(
    "--layout",
    metavar="NAME",
    is_eager=True,
    callback=_list_layouts,
    help="Layout of PATH, if it is not recognised; `--layout list` names all layouts.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    help="Number of submissions to grade at once (default: one for each core, or for each worker "
    "of the cluster).",
)
@click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Grade on the workers of this Dask scheduler, such as tcp://10.0.0.1:8786.",
)
@click.option(
    "--only-these",
    "only",
    is_flag=True,
    help="Start the class in DIR anew with PATH; reports of all others move to earlier/.",
)
@click.option("--regrade", is_flag=True, help="Grade again even what has not changed.")
@options.assignment
@options.course
@options.grading
@click.pass_context
def command(
    ctx: click.Context,
    paths: tuple[str, ...],
    destination: str,
    pattern: str | None,
    layout: str | None,
    jobs: int | None,
    scheduler: str | None,
    regrade: bool,
    only: bool,
    assignment: str | None,
    course: str | None,
    grading: Options,
) -> None:
    """Grade a class's submissions.

    PATH is an export of Moodle, Canvas, Gradescope, Blackboard, GitHub Classroom or nbgrader (a
    folder or zip), a folder with a file or a folder for each student, or a file. If a file looks
    like a submission but belongs to no student, the command lists it, does not grade it, and exits
    with 2. Submissions that have not changed keep their reports, and so do other students in DIR.
    Ctrl-C finishes the submissions that are being graded; run the same command again to continue.
    """
    from grader.batch.api import Batch
    from grader.batch.errors import BatchError

    if pattern and layout:
        raise click.UsageError(
            "--pattern and --layout both say how PATH is laid out: use only one."
        )
    with as_exit_codes(BatchError):
        loaded = _course(paths, course)
        with (
            Batch(
                [Path(path) for path in paths],
                loaded,
                Path(destination),
                grading,
                assignment=assignment,
                pattern=pattern,
                layout=layout,
                only=only,
                say=print_to_stderr,
            ) as batch,
            _pool(scheduler, loaded, jobs, grading.isolate) as pool,
        ):
            _say_what_was_found(batch.plan)
            with _first_interrupt(batch.stop), output.batch_progress(batch.plan) as advance:
                summary = batch.run(pool, regrade=regrade, on_result=advance)
    _conclude(ctx, summary, destination, batch)


def _course(paths: tuple[str, ...], course: str | None) -> Course:
    from grader.course.loading import load_course
    from grader.jobs.targets import course_root

    return load_course(course_root(paths, course))


@contextlib.contextmanager
def _pool(scheduler: str | None, course: Course, jobs: int | None, isolate: bool) -> Iterator[Pool]:
    """Where to grade: on this machine, or on a cluster."""
    if scheduler is None:
        from grader.batch.local import LocalPool

        yield LocalPool(jobs, isolate=isolate)
        return
    try:
        from grader.batch.cluster import ClusterPool
    except ModuleNotFoundError as error:
        raise GradeError(
            f"--scheduler needs the package {error.name}: pip install 'attention-grader[cluster]'"
        ) from None
    with ClusterPool(scheduler, course, jobs, isolate=isolate) as pool:
        yield pool


def _say_what_was_found(plan: Plan) -> None:
    from grader.report.words import count

    for name in plan.left_out:
        print_to_stderr(f"Left out, since it belongs to no known student: {name}")
    for one in plan.unassigned:
        help = "" if one.missing else " (or name it for all with --assignment ID)"
        print_to_stderr(f"{one.student}: {one.message}{help}")
    for line in plan.collisions:
        print_to_stderr(line)
    print_to_stderr(f"{count(len(plan.tasks), 'submission')} to grade")


@contextlib.contextmanager
def _first_interrupt(stop: Callable[[], None]) -> Iterator[None]:
    """The first Ctrl-C calls ``stop``, and the second interrupts as always."""

    def finish(number: int, frame: FrameType | None) -> None:
        signal.signal(signal.SIGINT, before)
        print_to_stderr(
            "Finishing the submissions that are being graded; press Ctrl-C again to stop at once."
        )
        stop()

    before = signal.signal(signal.SIGINT, finish)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _conclude(ctx: click.Context, summary: Summary, destination: str, batch: Batch) -> None:
    from grader.batch.text import left_out_words, lines
    from grader.cli.main import EXIT_INTERRUPTED
    from grader.report import safe

    for line in lines(summary):
        click.echo(safe.guard(safe.escape(line)))
    click.echo(
        safe.guard(safe.escape(f"Reports, grades.csv and summary.json are in {destination}"))
    )
    _refresh_pages(Path(destination))
    if not summary.complete:
        done = summary.counts.submissions - summary.counts.open
        print_to_stderr(
            f"Interrupted: {done} of {summary.counts.submissions} are graded. "
            "Run the same command again to continue."
        )
        ctx.exit(EXIT_INTERRUPTED)
    failed = [one.message for one in batch.results if one.status == "grading-failed"]
    if failed and len(failed) == len(batch.plan.tasks):
        raise InfrastructureError(f"nothing could be graded. {failed[0]}")
    if summary.left_out:
        raise GradeError(left_out_words(summary.left_out))


def _refresh_pages(folder: Path) -> None:
    """Update the pages that `grade report` made of an earlier run, if there are any."""
    from grader.batch.class_page import refresh_pages
    from grader.batch.errors import BatchError
    from grader.report.files import ReportError

    try:
        pages = refresh_pages(folder)
    except (BatchError, ReportError, OSError) as error:
        print_to_stderr(f"The pages of an earlier run could not be updated: {error}")
        return
    for page in pages:
        print_to_stderr(f"Updated: {page}")
