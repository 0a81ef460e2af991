"""Gradescope: makes the autograder's zip, and grades each submission there."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from grader.course.archive import zipped
from grader.course.model import Assignment, Course
from grader.integrations import platform
from grader.integrations.pins import pins
from grader.integrations.sides import private_side, public_side
from grader.integrations.templating import render
from grader.integrations.wheel import wheel
from grader.report import safe
from grader.report.formats import gradescope
from grader.report.formats.registry import AnyReport
from grader.report.words import count


def autograder(
    course: Course, assignments: Sequence[Assignment], *, torch_index: str = ""
) -> bytes:
    """The zip to upload. It holds the private files, so it is only for the instructor.

    What it installs comes from ``torch_index`` too, the address of an index of packages.

    Raises ReleaseError where a file of the course is missing or misplaced.
    """
    name, content = wheel()
    files = public_side(course, assignments) | private_side(course, assignments)
    return zipped(
        {
            "setup.sh": render("setup.sh", wheel=name, torch_index=torch_index),
            "run_autograder": render("run_autograder"),
            "constraints.txt": pins(),
            name: content,
            **{f"{platform.COURSE}/{path}": data for path, data in files.items()},
        }
    )


class Metadata:
    """``submission_metadata.json``, as far as it can be read; it affects no score."""

    def __init__(self, path: Path) -> None:
        try:
            read = json.loads(path.read_bytes())
        except (OSError, ValueError):
            read = None
        self._data: dict[str, Any] = read if isinstance(read, dict) else {}

    @property
    def late_by(self) -> timedelta | None:
        """How long after the due date it was handed in; None if it was in time, or unknown."""
        assignment = self._data.get("assignment")
        due = _time(assignment.get("due_date")) if isinstance(assignment, dict) else None
        created = _time(self._data.get("created_at"))
        try:
            return created - due if created and due and created > due else None
        except TypeError:  # only one of them says its offset from UTC
            return None

    @property
    def earlier(self) -> list[float]:
        """The scores of earlier attempts."""
        previous = self._data.get("previous_submissions")
        return list(_scores(previous)) if isinstance(previous, list) else []

    def remarks(self) -> Iterator[str]:
        """Remarks to show above a report."""
        late = self.late_by
        if late is not None:
            yield f"Handed in {_span(late)} after the due date."
        if self.earlier:
            best = max(self.earlier)
            earned = count(int(best) if best.is_integer() else best, "point")
            yield f"Attempt {len(self.earlier) + 1}; the best so far earned {earned}."


def _scores(previous: list[Any]) -> Iterator[float]:
    for one in previous:
        try:
            yield float(one["score"])
        except (TypeError, KeyError, ValueError):
            continue


def _time(text: Any) -> datetime | None:
    try:
        return datetime.fromisoformat(text)
    except (TypeError, ValueError):
        return None


def _span(length: timedelta) -> str:
    minutes = max(1, length // timedelta(minutes=1))
    days, minutes = divmod(minutes, 24 * 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((days, "day"), (hours, "hour"), (minutes, "minute"))
    return " ".join(count(number, word) for number, word in parts if number)


def results(report: AnyReport, metadata: Metadata) -> dict[str, Any]:
    """The report, with what the metadata adds to it."""
    content = gradescope.results(report)
    remarks = [safe.escape(line) for line in metadata.remarks()]
    content["output"] = "\n".join([*remarks, *([""] if remarks else []), content["output"]])
    late = metadata.late_by
    content["extra_data"] |= {
        "attempt": len(metadata.earlier) + 1,
        "late_s": int(late.total_seconds()) if late else 0,
    }
    return content


def failure(metadata: Metadata) -> dict[str, Any]:
    """A result without a score, unless an earlier attempt earned one: nobody gets 0 for our fault.

    Gradescope then says that the autograder failed, and the instructor can run it again.
    """
    content: dict[str, Any] = {
        "output": platform.FAILED,
        "output_format": "text",
        "stdout_visibility": "hidden",
        "extra_data": {"grader_failed": True},
    }
    if metadata.earlier:
        content["score"] = max(metadata.earlier)
        content["output"] += " The points are those of your best attempt so far."
    return content


def main(root: Path) -> int:
    """Grade the submission in Gradescope's folder, and write ``results/results.json``."""
    metadata = Metadata(root / "submission_metadata.json")
    return platform.run(
        course=root / "source" / platform.COURSE,
        submission=root / "submission",
        destination=root / "results" / "results.json",
        results=lambda report: results(report, metadata),
        failure=lambda: failure(metadata),
    )


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
