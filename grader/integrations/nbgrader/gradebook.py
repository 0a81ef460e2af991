"""Reads a notebook's cells from the gradebook, where no student can change them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec
from nbgrader.api import Gradebook, MissingEntry

from grader.integrations.nbgrader.cells import answer_id


class SourceCell(msgspec.Struct, frozen=True, kw_only=True):
    """A cell as ``nbgrader generate_assignment`` has saved it."""

    id: str
    kind: str
    text: str
    checksum: str | None
    locked: bool
    solution: bool
    task: bool
    points: float | None
    """None for a cell that is not graded."""

    @property
    def metadata(self) -> dict[str, Any]:
        """The cell's metadata, by nbgrader's schema 3."""
        optional = {"points": self.points, "checksum": self.checksum}
        return {
            "schema_version": 3,
            "grade_id": self.id,
            "grade": self.points is not None and not self.task,
            "solution": self.solution,
            "locked": self.locked,
            "task": self.task,
            "cell_type": self.kind,
            **{key: value for key, value in optional.items() if value is not None},
        }


def built_cells(names: Mapping[str, str]) -> list[SourceCell] | None:
    """The cells of the notebook that ``resources["nbgrader"]`` names, in their order.

    None for a notebook that ``grade nbgrader build`` has not made.
    """
    with Gradebook(names["db_url"]) as book:
        try:
            notebook = book.find_notebook(names["notebook"], names["assignment"])
        except MissingEntry:
            return None
        points = {
            cell.name: cell.max_score for cell in [*notebook.grade_cells, *notebook.task_cells]
        }
        solutions = {cell.name for cell in notebook.solution_cells}
        tasks = {cell.name for cell in notebook.task_cells}
        cells = [
            SourceCell(
                id=cell.name,
                kind=cell.cell_type,
                text=cell.source,
                checksum=cell.checksum,
                locked=cell.locked,
                solution=cell.name in solutions,
                task=cell.name in tasks,
                points=points.get(cell.name),
            )
            for cell in notebook.source_cells
        ]
    return cells if answer_id(names["notebook"]) in solutions else None
