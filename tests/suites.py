"""The suites of this course, collected once for all tests of a process."""

from __future__ import annotations

import atexit
import contextlib
from functools import cache
from pathlib import Path

from grader.course.loading import load_course
from grader.session.checks.collecting import Suites, collected
from grader.session.checks.source import warm_up

ROOT = Path(__file__).parents[1]
ASSIGNMENTS = load_course(ROOT).assignments

_open = contextlib.ExitStack()
atexit.register(_open.close)


@cache
def suites_of(name: str) -> Suites:
    """The suites of an assignment, whose checks can be run until the process ends."""
    warm_up()
    return _open.enter_context(collected(ASSIGNMENTS[name]))
