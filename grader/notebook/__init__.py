"""For students in Jupyter, Colab or a script: ``check("gqa", GroupedQueryAttention)``."""

from __future__ import annotations

import os
import secrets
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.console import Console

from grader.course.loading import course_assignment, find_course, load_course
from grader.course.model import Assignment, CourseError
from grader.jobs import warm
from grader.jobs.client import GradingError
from grader.jobs.protocol import Job
from grader.notebook.source import CheckError, write_submission
from grader.report.causes import failed
from grader.report.model import CheckResult, Report
from grader.report.recorded import html, plain
from grader.report.text import render, render_checks

__all__ = ["CheckError", "Verdicts", "check"]


class Verdicts:
    """The results of the checks: notebooks show them as HTML, everything else as text."""

    def __init__(self, report: Report, family: str | None = None) -> None:
        self.report = report
        self.family = family

    @property
    def checks(self) -> list[CheckResult]:
        """The results: all of them, or those of one family."""
        return [one for one in self.report.checks if self.family in (None, one.family)]

    def __repr__(self) -> str:
        return plain(self._show)

    def _repr_html_(self) -> str:
        return html(self._show)

    def _show(self, console: Console) -> None:
        if self.family is None or self.report.status != "graded":
            render(self.report, console)
        elif self.checks:
            render_checks(self.checks, console)
        else:
            console.print("This is not checked here, but it is when you hand in.")


def check(
    assignment: str,
    *objects: Any,
    family: str | None = None,
    course: str | os.PathLike[str] | None = None,
    seed: int | None = None,
) -> Verdicts:
    """Grade classes or functions of this session, in a process of its own.

    Their source is taken with what of the session it needs: imports, other definitions, variables
    that are assigned. Without ``objects`` it is that of the assignment's exports, as they are
    called. ``family`` shows the checks of one family alone. ``course`` defaults to the one around
    the current folder; hidden checks run where it has them. ``seed`` repeats a report's inputs.

    Raises CheckError where there is no such course, no source, or the grader cannot work.
    """
    if os.environ.get("NBGRADER_EXECUTION") == "autograde":
        raise CheckError(
            "a notebook of this course is not scored by running it: nbgrader_config.py has to "
            "call grader.integrations.nbgrader.configure"
        )
    try:
        loaded = load_course(find_course(Path.cwd()) if course is None else Path(course))
        chosen = course_assignment(loaded, assignment)
        with tempfile.TemporaryDirectory(prefix="grader-") as folder:
            submission = write_submission(_exports(chosen, objects), chosen, Path(folder))
            job = Job(
                submission=os.fsencode(submission),
                course=os.fsencode(loaded.root),
                assignment=chosen.id,
                seed=secrets.randbits(53) if seed is None else seed,
                beside=str(submission.parent),  # from which the session has imported it
            )
            report = warm.grade(job, chosen.limits)
    except CourseError as error:
        raise CheckError(str(error)) from None
    except GradingError as error:
        raise CheckError(f"the grader failed: {error}") from None
    verdicts = Verdicts(report.for_student(), family)
    if os.environ.get("NBGRADER_EXECUTION") == "validate" and any(map(failed, verdicts.checks)):
        raise AssertionError(f"not all checks passed\n{verdicts}")
    return verdicts


def _exports(assignment: Assignment, objects: tuple[Any, ...]) -> dict[str, Any]:
    """What was given for each name that the assignment asks for."""
    wanted = list(assignment.exports)
    if not objects:
        main = vars(sys.modules["__main__"])
        found = {name: main[name] for name in wanted if name in main}
        if not found:
            raise CheckError(f"{' and '.join(wanted)} is not defined here yet: run its cell first")
        return found
    if len(objects) == 1 == len(wanted):
        return {wanted[0]: objects[0]}
    named = {getattr(one, "__name__", None): one for one in objects}
    strange = [repr(one) for name, one in named.items() if name not in wanted]
    if strange:
        raise CheckError(
            f"{', '.join(strange)}: {assignment.id} asks for functions or classes called "
            f"{', '.join(wanted)}"
        )
    return {str(name): one for name, one in named.items()}
