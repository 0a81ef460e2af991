"""The repository that students start from."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

import msgspec

from grader.course.loading import ASSIGNMENTS, load_course
from grader.course.model import Assignment, Course
from grader.integrations.errors import ReleaseError
from grader.integrations.grading import grade_all
from grader.integrations.sides import public_side
from grader.integrations.templating import render
from grader.integrations.wheel import wheel
from grader.report.formats.github import output_name
from grader.report.formats.items import reports
from grader.report.words import grade

VENDOR = "vendor"


def student_repository(course: Course, assignments: Sequence[Assignment]) -> dict[str, bytes]:
    """The files of the repository, by their paths: public checks, workflow, the grader, a README.

    The stubs are graded first, as a student's would be.

    Raises:
        ReleaseError: a file is missing or private, or a stub is filled in.
        GradingError: the grader cannot work.
    """
    public = public_side(course, assignments)
    points = _points(public)
    name, content = wheel()
    values = {
        "title": course.title,
        "assignments": [
            {
                "id": one.id,
                "title": one.title,
                "file": one.file,
                "points": points[one.id],
                "variable": output_name(one.id).removeprefix("result_"),
                "output": output_name(one.id),
            }
            for one in assignments
        ],
        "wheel": f"{VENDOR}/{name}",
    }
    return public | {
        f"{VENDOR}/{name}": content,
        "requirements.txt": f"./{VENDOR}/{name}\n".encode(),
        "README.md": render("README.md", **values),
        ".gitignore": b".venv/\n__pycache__/\n.pytest_cache/\n",
        ".github/workflows/classroom.yml": render("classroom.yml", **values),
        ".github/classroom/autograding.json": _autograding(assignments, points),
    }


def _points(public: dict[str, bytes]) -> dict[str, int]:
    """What can be earned in each assignment with what students have; nothing with the stubs."""
    with tempfile.TemporaryDirectory() as folder:
        for name, data in public.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        report = grade_all(load_course(Path(folder)), None, public_only=True)
    for one in reports(report):
        if one.status != "not-started":
            raise ReleaseError(
                f"{ASSIGNMENTS}/{one.assignment.id}: its stub is {one.status} with "
                f"{grade(one)}; students need one that raises "
                f"NotImplementedError. {one.message}"
            )
    return {one.assignment.id: one.score.possible for one in reports(report)}


def _autograding(assignments: Sequence[Assignment], points: dict[str, int]) -> bytes:
    """For the action that GitHub Classroom had first: all or nothing for each assignment."""
    tests = [
        {
            "name": one.title,
            "setup": "python3 -m pip install -r requirements.txt",
            "run": f"grade run {one.id} --fail-under 100",
            "input": "",
            "output": "",
            "comparison": "included",
            "timeout": 10,
            "points": points[one.id],
        }
        for one in assignments
    ]
    return msgspec.json.format(msgspec.json.encode({"tests": tests}), indent=2) + b"\n"
