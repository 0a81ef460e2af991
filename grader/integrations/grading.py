"""Grading one folder for every assignment of a course, as platforms want it."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from grader.course.model import Course
from grader.jobs.client import GradingProcess
from grader.jobs.protocol import Job
from grader.report.model import CourseReport, Report, joined


def grade_all(
    course: Course, submission: Path | None, *, public_only: bool = False
) -> Report | CourseReport:
    """The instructor's report on ``submission``, or on the course's own stubs.

    Of an assignment that is not handed in, the report is one of status ``not-gradable``. Raises
    GradingError where the grader cannot work.
    """
    seed = secrets.randbits(53)
    with GradingProcess() as process:
        reports = [
            process.grade(
                Job(
                    submission=os.fsencode(submission or one.stub),
                    course=os.fsencode(course.root),
                    assignment=one.id,
                    seed=seed,
                    public_only=public_only,
                )
            )
            for one in course.assignments.values()
        ]
    return joined(course.title, reports)
