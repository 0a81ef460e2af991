"""Folders and people are called whatever they like, and the locale need not know their letters."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from ..toy import FILES, make_course

PLACE = "Übung 3 (копия)"
STUDENT = "Łukasz 李"
RIGHT = FILES["solutions/scale/scale.py"] + "\nprint('zażółć 李')\n"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    folder = tmp_path / PLACE
    make_course(folder / "курс")
    return folder


def grade(*arguments: object, cwd: Path) -> subprocess.CompletedProcess[str]:
    """Run ``grade`` as a console does that knows no letters but those of ASCII."""
    outside = {name: value for name, value in os.environ.items() if name not in ("CI", "LANG")}
    environment = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    return subprocess.run(
        [Path(sys.executable).with_name("grade"), *map(str, arguments)],
        capture_output=True,
        env=outside | environment,
        cwd=cwd,
        encoding="utf-8",
        errors="surrogateescape",
    )


def test_run(place):
    submission = place / STUDENT / "scale.py"
    submission.parent.mkdir()
    submission.write_text(RIGHT, "utf-8")
    found = grade("run", submission, "--course", "курс", "--output", "raport ł.json", cwd=place)
    assert (found.returncode, found.stderr) == (0, "")
    report = json.loads((place / "raport ł.json").read_text("utf-8"))
    assert report["score"] == {"earned": 6, "possible": 6}
    assert report["output"]["text"] == "zażółć 李\n"


def test_a_console_without_the_letters_is_shown_something(place):
    submission = place / "scale.py"
    submission.write_text(RIGHT, "utf-8")
    found = grade("run", submission, "--course", "курс", cwd=place)
    assert (found.returncode, found.stderr) == (0, "")
    assert "6 of 6 points" in found.stdout


def test_batch(place):
    submission = place / "сдано" / STUDENT / "scale.py"
    submission.parent.mkdir(parents=True)
    submission.write_text(RIGHT, "utf-8")
    found = grade(
        *("batch", "сдано", "--course", "курс", "--output", "wyniki ł", "--jobs", "1"), cwd=place
    )
    assert found.returncode == 0, found.stderr
    reports = list((place / "wyniki ł" / "reports" / "scale").glob("*.json"))
    assert [path.stem for path in reports] == [STUDENT]
    score = json.loads(reports[0].read_text("utf-8"))["score"]
    assert score == {"earned": 6, "possible": 6}
    tables = (place / "wyniki ł").glob("*.csv")
    assert any(STUDENT in table.read_text("utf-8-sig") for table in tables)
