"""A batch's grades in tables for learning platforms; one module for each platform."""

from __future__ import annotations

from typing import Final

from grader.batch.gradebooks.blackboard import BLACKBOARD
from grader.batch.gradebooks.canvas import CANVAS
from grader.batch.gradebooks.gradebook import Gradebook
from grader.batch.gradebooks.moodle import MOODLE

GRADEBOOKS: Final[dict[str, Gradebook]] = {one.name: one for one in (BLACKBOARD, CANVAS, MOODLE)}
