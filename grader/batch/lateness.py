"""The penalty for a late submission."""

from __future__ import annotations

import msgspec

from grader.batch.class_folder import normal
from grader.batch.plan import Task
from grader.course.late import days_late, penalty
from grader.course.model import Course
from grader.report.model import Lateness, Report


def with_lateness(task: Task, report: Report, course: Course) -> Report:
    """``report`` with the penalty that the course's policy gives the task's date.

    Of a group the latest due date of its members holds.
    """
    return msgspec.structs.replace(report, lateness=_lateness(task, report, course))


def _lateness(task: Task, report: Report, course: Course) -> Lateness | None:
    policy, when = course.late, task.when
    if policy is None or when is None or report.status != "graded":
        return None
    exceptions = {normal(name): dates for name, dates in policy.exceptions.items()}
    dates = [
        due
        for student in task.students
        if (
            due := exceptions.get(student, {}).get(task.assignment, policy.due.get(task.assignment))
        )
    ]
    if not dates or not (days := days_late(when.at, max(dates), policy)):
        return None
    points = min(penalty(days, report.score.possible, policy), report.score.earned)
    return Lateness(
        due=max(dates).isoformat(timespec="seconds"),
        handed_in=when.at.isoformat(timespec="seconds"),
        source=when.source,
        days=days,
        penalty=points,
        earned=report.score.earned - points,
    )
