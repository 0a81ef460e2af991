"""The grader where there is neither ``fork`` nor anything else that only Unix has."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ..toy import make_course

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="it leaves Linux")

ELSEWHERE = Path(__file__).with_name("elsewhere.py")
BEGIN = """
import importlib, pkgutil, sys
sys.path.insert(0, sys.argv.pop(1))
import elsewhere
elsewhere.leave_linux()
"""
IMPORT_EVERYTHING = """
EXTRAS = ("nbgrader", "nbformat", "nbconvert", "dask", "distributed", "cosmic_ray")
import grader
names = [found.name for found in pkgutil.walk_packages(grader.__path__, "grader.")]
for name in names:
    try:
        importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name.split(".")[0] not in EXTRAS:
            raise
print(len(names))
"""
GRADE = """
from grader.cli.main import main
main()
"""


def run(program: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if name != "CI"}
    # No lock holds there, so that what others have staged would look like nobody's.
    environment["TMPDIR"] = str(folder)
    return subprocess.run(
        [sys.executable, "-I", "-c", BEGIN + program, str(ELSEWHERE.parent), *arguments],
        capture_output=True,
        encoding="utf-8",
        env=environment,
    )


def test_every_module_can_be_imported(tmp_path):
    found = run(IMPORT_EVERYTHING, tmp_path)
    assert found.stderr == ""
    assert int(found.stdout) > 100


def test_a_submission_is_graded(tmp_path):
    course = make_course(tmp_path / "course")
    submission = tmp_path / "scale.py"
    submission.write_text("print('imported')\ndef scale(x):\n    return x * 3 + 1\n", "utf-8")
    place = tmp_path / "report.json"
    found = run(
        GRADE, tmp_path, "run", str(submission), "--course", str(course), "--output", str(place)
    )
    assert (found.returncode, found.stderr) == (0, "")
    report = json.loads(place.read_text("utf-8"))
    assert report["score"] == {"earned": 6, "possible": 6}
    # It comes by way of a thread: when, and so to which check, is the system's matter.
    printed = [report["output"], *(check["output"] for check in report["checks"])]
    assert "".join(one["text"] for one in printed) == "imported\n"
    assert report["sandbox"]["level"] == "none"
