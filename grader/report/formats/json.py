"""Our own JSON, which every other format can be made from: ``grade export`` reads it."""

from __future__ import annotations

from grader.report.files import encode
from grader.report.formats.registry import Format

FORMAT = Format(
    name="json",
    help="The report itself, as `grade schema` describes it.",
    export=encode,
)
