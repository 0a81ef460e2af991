"""``nbgrader export --exporter=grader.integrations.nbgrader.table.MisconceptionsExport``."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from nbgrader.api import MissingEntry
from nbgrader.plugins import ExportPlugin

from grader.integrations.nbgrader.grading import report_path
from grader.report import safe
from grader.report.files import decode
from grader.report.model import CourseReport, Report

_PERSON = ("last_name", "first_name", "email")


class MisconceptionsExport(ExportPlugin):
    """nbgrader's table of scores, with what became of each submission and its misconceptions."""

    def export(self, gradebook: Any) -> None:
        """Write the table to ``--to``, by default ``grades.csv``."""
        destination = self.to or "grades.csv"
        self.log.info("Exporting grades and misconceptions to %s", destination)
        rows = [
            self._row(gradebook, assignment, student)
            for assignment in gradebook.assignments
            if not self.assignment or assignment.name in map(str, self.assignment)
            for student in gradebook.students
            if not self.student or student.id in map(str, self.student)
        ]
        with open(destination, "w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, lineterminator="\n")
            if rows:
                writer.writerow(rows[0])
            for row in rows:
                writer.writerow([safe.cell(str(value)) for value in row.values()])

    def _row(self, gradebook: Any, assignment: Any, student: Any) -> dict[str, Any]:
        try:
            submission = gradebook.find_submission(assignment.name, student.id)
        except MissingEntry:
            submission = None
        penalty = submission.late_submission_penalty or 0.0 if submission else 0.0
        score = submission.score if submission else 0.0
        reports = list(self._reports(assignment, student.id)) if submission else []
        faults = [" or ".join(one.faults) for report in reports for one in report.diagnosis]
        return {
            "assignment": assignment.name,
            "duedate": assignment.duedate or "",
            "timestamp": submission.timestamp or "" if submission else "",
            "student_id": student.id,
            **{key: getattr(student, key) or "" for key in _PERSON},
            "raw_score": score,
            "late_submission_penalty": penalty,
            "score": max(0.0, score - penalty),
            "max_score": assignment.max_score,
            "status": "; ".join(report.status for report in reports),
            "misconceptions": "; ".join(faults),
        }

    def _reports(self, assignment: Any, student: str) -> Iterator[Report]:
        root = self.parent.coursedir.root
        for notebook in assignment.notebooks:
            names = {"assignment": assignment.name, "student": student, "notebook": notebook.name}
            path: Path = report_path(root, names)
            if path.is_file():
                report = decode(path.read_bytes())
                assert not isinstance(report, CourseReport)
                yield report
