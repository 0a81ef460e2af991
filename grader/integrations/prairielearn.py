"""PrairieLearn: makes questions with an external grader, and grades each submission there."""

from __future__ import annotations

import json
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from grader.course.archive import zipped
from grader.course.model import Assignment, Course
from grader.integrations import platform
from grader.integrations.pins import pins
from grader.integrations.sides import private_side, public_side
from grader.integrations.templating import render
from grader.integrations.wheel import wheel
from grader.report.formats import prairielearn

_SECONDS = 300


def questions(course: Course, assignments: Sequence[Assignment]) -> bytes:
    """A zip with a question for each assignment, and the image they are graded in.

    It holds the private side: it is for the instructor alone. Raises ReleaseError where a file of
    the course is missing or misplaced.
    """
    name, content = wheel()
    files = {
        "image/Dockerfile": render("Dockerfile", wheel=name),
        "image/constraints.txt": pins(),
        f"image/{name}": content,
    }
    for one in assignments:
        folder = f"questions/{one.id}"
        sides = public_side(course, [one]) | private_side(course, [one])
        files |= {
            f"{folder}/info.json": _info(course, one),
            f"{folder}/question.html": render("question.html", title=one.title, file=one.file),
            f"{folder}/tests/run.sh": render("run.sh"),
            **{f"{folder}/tests/{platform.COURSE}/{path}": data for path, data in sides.items()},
        }
    return zipped(files)


def _info(course: Course, assignment: Assignment) -> bytes:
    # The same every time: a question that is released again stays the same question.
    identity = uuid.uuid5(uuid.NAMESPACE_URL, f"attention-grader:{course.title}:{assignment.id}")
    info = {
        "uuid": str(identity),
        "title": assignment.title,
        "topic": course.title,
        "type": "v3",
        "singleVariant": True,
        "gradingMethod": "External",
        "externalGradingOptions": {
            "enabled": True,
            "image": "attention-grader",
            "entrypoint": "/grade/tests/run.sh",
            "timeout": _SECONDS,
        },
    }
    return json.dumps(info, indent=2).encode() + b"\n"


def failure() -> dict[str, Any]:
    """A result that costs no attempt: nobody gets 0 for our fault."""
    return {"gradable": False, "message": platform.FAILED}


def main(root: Path) -> int:
    """Grade the submission in PrairieLearn's folder, and write ``results/results.json``."""
    return platform.run(
        course=root / "tests" / platform.COURSE,
        submission=root / "student",
        destination=root / "results" / "results.json",
        results=prairielearn.results,
        failure=failure,
    )


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
