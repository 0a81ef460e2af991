"""An audit as a page: the kill matrix of each assignment, faults down and checks across."""

from __future__ import annotations

from typing import Any

import jinja2

from grader.audit.model import Audit, FaultEntry


def render(audits: list[Audit]) -> str:
    """One self-contained HTML page; everything from files is escaped."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("grader.audit", "."),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    template = environment.get_template("page.html")
    return template.render(audits=audits, cell=_cell)


def _cell(fault: FaultEntry, check: str) -> Any:
    """The word for one cell of the matrix: it is shown, and it is the cell's class."""
    if check in fault.caught_by:
        return "caught"
    return "sometimes" if check in fault.flaky else ""
