"""What is watched for a word on the command line, and when it counts as saved."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.course.model import CourseError
from grader.watching.saves import Submissions
from grader.watching.targets import watched

from ..toy import make_course


@pytest.fixture
def course(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = make_course(tmp_path / "course")
    monkeypatch.chdir(root)
    return root


@pytest.mark.parametrize("word", [None, "scale", "assignments/scale/scale.py"])
def test_what_lies_in_the_course(course, word):
    loaded, targets, start = watched(word)
    assert targets == [start]
    assert start.submission == loaded.assignments["scale"].stub


def test_a_folder_and_a_file(course, tmp_path):
    folder = tmp_path / "ada"
    folder.mkdir()
    (folder / "scale.py").write_text("def scale(x):\n    return x\n")
    assert watched(str(folder))[2].submission == folder
    assert watched(str(folder / "scale.py"))[2].submission == folder / "scale.py"


@pytest.mark.parametrize("word", ["scael", "nowhere/scale.py"])
def test_what_is_not_there(course, word):
    with pytest.raises(CourseError):
        watched(word)


def test_only_code_that_is_another_counts_as_saved(course):
    loaded, targets, start = watched("scale")
    submissions = Submissions(loaded, targets)
    stub = start.submission
    assert submissions.changed() == []
    stub.write_text(stub.read_text())
    (stub.parent / "notes.txt").write_text("to do")
    (stub.parent / "scale.py~").write_text("an editor's copy")
    assert submissions.changed() == []
    stub.write_text("def scale(x):\n    return x\n")
    assert submissions.changed() == [start]
    stub.unlink()
    assert submissions.changed() == [start]
    assert submissions.changed() == []
