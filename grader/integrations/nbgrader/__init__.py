"""Lets nbgrader grade with this project instead of a kernel; see docs/nbgrader.md."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from grader.jobs.protocol import SandboxMode

__all__ = ["configure"]


def configure(
    c: Any, *, course: str | Path, seed: int | None = None, sandbox: SandboxMode = "auto"
) -> None:
    """Let ``nbgrader autograde`` grade the notebooks that ``grade nbgrader build`` has made.

    Call it in ``nbgrader_config.py`` with the configuration. ``course`` is the folder with
    ``assignments/`` and the private side. Notebooks of other origin are run as always.
    """
    c.Autograde.exporter_class = f"{__name__}.exporter.AnswerExporter"
    c.Autograde.autograde_preprocessors = [
        f"{__name__}.grading.GradeAnswers",
        "nbgrader.preprocessors.IgnorePattern",
        "nbconvert.preprocessors.ClearMetadataPreprocessor",
        "nbgrader.preprocessors.LimitOutput",
        "nbgrader.preprocessors.SaveAutoGrades",
        f"{__name__}.grading.CommentAnswers",
        "nbgrader.preprocessors.AssignLatePenalties",
        "nbgrader.preprocessors.CheckCellMetadata",
    ]
    c.GradeAnswers.course = str(course)
    c.GradeAnswers.seed = seed
    c.GradeAnswers.sandbox = sandbox
