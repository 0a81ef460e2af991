"""What the platforms' autograders share: they grade a folder and write a file."""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from grader.course.loading import load_course
from grader.integrations.grading import grade_all
from grader.report import safe
from grader.report.files import write_atomically
from grader.report.formats.items import encode
from grader.report.formats.registry import AnyReport

COURSE = "course"
"""The folder of the course in what is uploaded."""
FAILED = "The grader failed, and no points were given or taken. Please tell your instructor."


def run(
    *,
    course: Path,
    submission: Path,
    destination: Path,
    results: Callable[[AnyReport], Mapping[str, Any]],
    failure: Callable[[], Mapping[str, Any]],
) -> int:
    """Grade ``submission`` and write ``results`` of the report, or ``failure()`` where that fails.

    Returns the exit code, 3 for a failure of the grader's; what failed is on stderr, for the
    instructor.
    """
    code = 0
    try:
        content = results(grade_all(load_course(course), submission))
    except Exception as error:
        for line in safe.lines("".join(traceback.format_exception(error))):
            print(safe.guard(line), file=sys.stderr)
        content, code = failure(), 3
    destination.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(destination, encode(content))
    return code
