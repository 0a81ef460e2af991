"""The cells of a notebook that is graded here, and their names in the gradebook."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from grader.course.families import depth
from grader.report.model import CheckResult


def cell_id(assignment: str, part: str) -> str:
    """The ``grade_id`` of a cell: ``part`` is a family, ``answer``, ``handout`` or ``start``."""
    return f"{assignment}--{part}"


def answer_id(assignment: str) -> str:
    """The ``grade_id`` of the cell that a student fills in."""
    return cell_id(assignment, "answer")


class GradeCell(msgspec.Struct, frozen=True, kw_only=True):
    """One autograded cell: the checks of one family."""

    id: str
    family: str
    checks: list[CheckResult]

    @property
    def points(self) -> int:
        return sum(check.points for check in self.checks)

    @property
    def earned(self) -> int:
        return sum(check.earned for check in self.checks)


def grade_cells(assignment: str, checks: Sequence[CheckResult]) -> list[GradeCell]:
    """A cell for each family of ``checks``, from the cheapest to understand to the deepest."""
    families = sorted({check.family for check in checks}, key=depth)
    return [
        GradeCell(
            id=cell_id(assignment, family),
            family=family,
            checks=[check for check in checks if check.family == family],
        )
        for family in families
    ]
