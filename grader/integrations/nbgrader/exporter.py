"""Reads submitted notebooks, and trusts only the text of their cells."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import nbformat
from nbconvert.exporters import NotebookExporter

from grader.course.finding import MAX_BYTES
from grader.course.tree import read_regular
from grader.integrations.nbgrader.gradebook import SourceCell, built_cells

_MAKERS = {
    "code": nbformat.v4.new_code_cell,
    "markdown": nbformat.v4.new_markdown_cell,
    "raw": nbformat.v4.new_raw_cell,
}
_UNREADABLE = (
    "**This notebook could not be read.** Its content cannot be shown here. The file that was "
    "handed in is unchanged."
)


class AnswerExporter(NotebookExporter):
    """Takes the place of nbgrader's reading of submitted notebooks, for those that are built here.

    Broken ones are read as notebooks without answers, where nbgrader would give up.
    """

    def from_filename(
        self, filename: str, resources: dict[str, Any] | None = None, **options: Any
    ) -> Any:
        """The notebook in the file, restored and passed through the preprocessors."""
        sources = built_cells(resources["nbgrader"]) if resources else None
        if sources is None:
            return super().from_filename(filename, resources=resources, **options)
        notebook = restored(Path(filename), sources)
        return self.from_notebook_node(notebook, resources=resources, **options)


def restored(path: Path, sources: Sequence[SourceCell]) -> Any:
    """The notebook in a student's file, with everything but their answers restored.

    Cells keep their order and text; outputs and metadata do not come along. A cell of ``sources``
    is known by its id, the last one if there are several; it gets its metadata back and, if it is
    locked, its text. Those that are missing come at the end.
    """
    known = {source.id: source for source in sources}
    cells = []
    for cell in reversed(_cells(path)):
        metadata = cell.get("metadata")
        nbgrader = metadata.get("nbgrader") if isinstance(metadata, dict) else None
        id = nbgrader.get("grade_id") if isinstance(nbgrader, dict) else None
        source = known.pop(id, None) if isinstance(id, str) else None
        cells.append(_plain(cell) if source is None else _known(source, _text(cell)))
    cells.reverse()
    cells += [_known(source, "") for source in sources if source.id in known]
    return nbformat.v4.new_notebook(cells=cells)


def _cells(path: Path) -> list[Any]:
    try:
        data = read_regular(path, limit=MAX_BYTES[".ipynb"])
        notebook = nbformat.reads(data.decode("utf-8"), as_version=4)
        return [cell for cell in notebook["cells"] if isinstance(cell, dict)]
    except Exception:  # of any kind, since it can hold anything
        return [nbformat.v4.new_markdown_cell(_UNREADABLE)]


def _known(source: SourceCell, text: str) -> Any:
    make = _MAKERS[source.kind]
    return make(source.text if source.locked else text, metadata={"nbgrader": source.metadata})


def _plain(cell: Any) -> Any:
    kind = cell.get("cell_type")
    return _MAKERS[kind if isinstance(kind, str) and kind in _MAKERS else "raw"](_text(cell))


def _text(cell: Any) -> str:
    source = cell.get("source")
    parts = source if isinstance(source, list) else [source]
    text = "".join(part for part in parts if isinstance(part, str))
    return text.encode("utf-8", "replace").decode("utf-8")
