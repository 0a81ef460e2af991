"""Who handed in what, as each platform lays it out."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

import pytest

from grader.batch.errors import BatchError
from grader.batch.plan import Plan, make_plan
from grader.course.loading import load_course

from .conftest import in_zip, right, write


@pytest.fixture
def plan(course, tmp_path):
    """Plans a batch of paths."""

    def make(*paths: Path, **options) -> Plan:
        scratch = tmp_path / f"scratch-{len(os.listdir(tmp_path))}"
        scratch.mkdir()
        return make_plan(paths, load_course(course), scratch, **options)

    return make


@pytest.fixture
def handed_in(tmp_path):
    """Writes files, each a right answer unless it is said otherwise."""

    def make(*names: str, folder: str = "in", **texts: str) -> Path:
        return write(tmp_path / folder, dict.fromkeys(names, right()) | texts)

    return make


def who(plan: Plan) -> set[tuple[str, str]]:
    return {(name, task.assignment) for task in plan.tasks for name in task.students}


def zipped(path: Path, files: dict[str, str | bytes]) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


GRADESCOPE = """---
submission_11:
  :submitters:
  - :name: Ann Lee
    :sid: '1001'
    :email: ann@example.org
  - :name: "Bo \\u00c5s"
    :email: bo@example.org
    :sid:
  :created_at: 2026-01-02 03:04:05.0 Z
  :results:
    :output: |
      :submitters:
      - :name: Mallory
submission_12:
  :submitters:
  - :name: Cem
    :sid: 1003
  :created_at: 2026-01-02 03:04:06.0 Z
"""


class TestPlatforms:
    def test_flat_folder(self, plan, handed_in):
        found = plan(handed_in("ann.py", "shift_bob.py", "cem.ipynb"), assignment=None)
        assert ("ann", "scale") in who(found)
        assert ("bob", "shift") in who(found)

    def test_flat_folder_takes_the_last_copy(self, plan, handed_in):
        folder = handed_in("ann (1).py", "ann (2).py", "group.py", "group-1.py", "group-2.py")
        found = plan(folder)
        assert who(found) == {(name, "scale") for name in ("ann", "group", "group-1", "group-2")}
        (ann,) = [task for task in found.tasks if task.students == ["ann"]]
        assert ann.submission.name == "ann (2).py"
        assert found.left_out == [f"{folder}: ann (1).py"]

    @pytest.mark.parametrize("whose", ["ann.py", "scale_ann.py", "ann/scale.py"])
    @pytest.mark.parametrize("copy", ["ann (9).py", "ann(1).zip", "ann_(2).ipynb"])
    def test_a_copy_is_nobodys_where_there_is_what_it_may_be_a_copy_of(
        self, plan, handed_in, whose, copy
    ):
        folder = handed_in(whose, copy, "bob.py", "cem (3).py")
        found = plan(folder, assignment="scale")
        assert who(found) == {("ann", "scale"), ("bob", "scale"), ("cem", "scale")}
        (ann,) = [task for task in found.tasks if task.students == ["ann"]]
        assert ann.submission.name == whose.partition("/")[0]
        assert found.left_out == [f"{folder}: {copy}"]

    def test_files_side_by_side_do_not_see_each_other(self, plan, handed_in):
        found = plan(handed_in("ann.py", "bob.py"))
        assert all(
            os.listdir(task.submission.parent) == [task.submission.name] for task in found.tasks
        )

    def test_a_folder_for_each_student(self, plan, handed_in):
        found = plan(handed_in("ann/scale.py", "ann/shift.py", "bob/answer.py"))
        assert who(found) == {("ann", "scale"), ("ann", "shift"), ("bob", "scale")}

    def test_files_and_folders_called_after_students(self, plan, handed_in):
        found = plan(handed_in("ann.py", "bob/scale.py", "bob/shift.py", "cem (1).py", "dee/a.py"))
        assert who(found) == {
            *(("ann", "scale"), ("bob", "scale"), ("bob", "shift"), ("cem", "scale")),
            ("dee", "scale"),
        }
        assert "a file or a folder for each student, 4 students" in found.layouts[0]

    def test_one_student(self, plan, handed_in):
        assert who(plan(handed_in("scale.py", "shift.py"))) == {("in", "scale"), ("in", "shift")}

    def test_a_class_with_a_file_called_like_an_assignment(self, plan, handed_in):
        found = plan(handed_in("scale.py", "ann.py", "bob.py"))
        assert who(found) == {("scale", "scale"), ("ann", "scale"), ("bob", "scale")}

    def test_clones_of_classroom(self, plan, handed_in):
        names = ["scale-ann-lee", "scale-ann-bob"]
        folder = handed_in(
            *(f"{name}/{file}" for name in names for file in ("scale.py", ".git/HEAD"))
        )
        assert who(plan(folder)) == {("ann-lee", "scale"), ("ann-bob", "scale")}

    def test_gradescope(self, plan, handed_in):
        names = [f"submission_{number}/scale.py" for number in (11, 12)]
        folder = handed_in(*names, **{"submission_metadata.yml": GRADESCOPE})
        found = plan(folder)
        assert who(found) == {("Ann Lee", "scale"), ("Bo Ås", "scale"), ("Cem", "scale")}
        assert len(found.tasks) == 2  # what a group handed in is graded once

    def test_moodle_zip(self, plan, tmp_path):
        archive = zipped(
            tmp_path / "CS-Scale-77.zip",
            {
                "Ann Lee_101_assignsubmission_file_/answer.py": right(),
                "José_102_assignsubmission_file_/work.zip": in_zip({"scale.py": right()}),
                "Cem_103_assignsubmission_onlinetext_/onlinetext.html": "Sorry",
                "__MACOSX/Ann Lee_101_assignsubmission_file_/._answer.py": "",
            },
        )
        found = plan(archive)
        assert who(found) == {("Ann Lee", "scale"), ("José", "scale"), ("Cem", "scale")}

    def test_moodle_without_folders(self, plan, handed_in):
        found = plan(handed_in("Ann Lee_101_assignsubmission_file_scale.py"))
        assert who(found) == {("Ann Lee", "scale")}

    def test_canvas_zip_takes_the_last_of_each_file(self, plan, tmp_path):
        archive = zipped(
            tmp_path / "submissions.zip",
            {
                "leeann_LATE_12_345_scale-1.py": right(),
                "leeann_12_344_scale.py": "",
                "leeann_12_346_helpers-1.py": "x = 1",
                "roebob_13_347_answer.ipynb": "{}",
            },
        )
        found = plan(archive, assignment="scale")
        assert who(found) == {("leeann", "scale"), ("roebob", "scale")}
        ann = found.tasks[0]
        assert sorted(os.listdir(ann.submission)) == ["helpers.py", "scale.py"]
        assert (ann.submission / "scale.py").read_text() == right()
        assert ann.notes == [
            "Canvas marks it as late.",
            "The last attempt counts: took leeann_LATE_12_345_scale-1.py, "
            "leeann_12_346_helpers-1.py, not leeann_12_344_scale.py.",
        ]

    def test_nbgrader(self, plan, handed_in):
        found = plan(
            handed_in(
                "submitted/ann/scale/scale.py",
                "submitted/ann/shift/shift.py",
                "submitted/bob/scale/scale.py",
                "source/scale/scale.py",
            )
        )
        assert who(found) == {("ann", "scale"), ("ann", "shift"), ("bob", "scale")}

    def test_blackboard(self, plan, handed_in):
        early, late = "2026-01-02-03-04-05", "2026-01-10-03-04-05"
        folder = handed_in(
            f"Scale_ann_lee_attempt_{early}_scale.py",
            f"Scale_ann_lee_attempt_{late}_scale.py",
            f"Scale_bob_attempt_{early}_answer.py",
            **{
                f"Scale_ann_lee_attempt_{when}.txt": "Name: Ann Lee (ann_lee)\nAssignment: Scale\n"
                for when in (early, late)
            },
        )
        found = plan(folder)
        assert who(found) == {("Ann Lee", "scale"), ("bob", "scale")}
        assert late in found.tasks[0].notes[0].partition(", not ")[0]

    def test_a_zip_of_a_platform_for_each_assignment(self, plan, tmp_path):
        folder = tmp_path / "in"
        folder.mkdir()
        for id, number in (("scale", 1), ("shift", 2)):
            # Moodle gives a student another number in each assignment.
            inside = {f"Ann_{number}_assignsubmission_file_/a.py": right(id)}
            zipped(
                folder / f"CS-{id}.zip",
                {"export.zip/" + name: text for name, text in inside.items()},
            )
        assert who(plan(folder)) == {("Ann", "scale"), ("Ann", "shift")}

    def test_a_folder_for_each_assignment(self, plan, handed_in):
        found = plan(handed_in("scale/ann.py", "shift/ann.py", "shift/bob.py"))
        assert who(found) == {("ann", "scale"), ("ann", "shift"), ("bob", "shift")}


class TestNames:
    def test_are_compared_composed_and_never_merged(self, plan, handed_in):
        found = plan(handed_in("Jose\u0301.py", "José.py"))
        assert who(found) == {("José", "scale"), ("José [2]", "scale")}
        assert len(found.collisions) == 1

    def test_namesakes_are_told_apart_by_their_ids(self, plan, handed_in):
        found = plan(handed_in("leeann_12_1_scale.py", "leeann_13_2_scale.py"))
        assert who(found) == {("leeann (12)", "scale"), ("leeann (13)", "scale")}
        assert found.collisions


class TestPatterns:
    def test_template(self, plan, handed_in):
        found = plan(
            handed_in("week1/ann/scale.py", "week1/bob/shift.py"),
            pattern="*/{student}/{assignment}.py",
        )
        assert who(found) == {("ann", "scale"), ("bob", "shift")}

    def test_expression_of_folders(self, plan, handed_in):
        folder = handed_in("x-ann/scale.py", "y-bob/scale.py", "z/scale.py")
        found = plan(folder, pattern=r"[xy]-(?P<student>\w+)")
        assert who(found) == {("ann", "scale"), ("bob", "scale")}
        assert found.left_out == [f"{folder}: z/scale.py"]

    @pytest.mark.parametrize("pattern", ["*.py", "(?P<student>", "{student}.txt"])
    def test_that_says_nothing(self, plan, handed_in, pattern):
        with pytest.raises(BatchError, match="--pattern"):
            plan(handed_in("ann.py"), pattern=pattern)


class TestWhatIsNotUnderstood:
    def test_says_what_was_seen(self, plan, handed_in):
        folder = handed_in("a/notes.txt", "d/notes.txt", "f.py")
        with pytest.raises(BatchError, match=r"2 folders and 1 \.py file .*--pattern"):
            plan(folder)

    def test_broken_zip(self, plan, tmp_path):
        (tmp_path / "a.zip").write_bytes(b"PK nothing")
        with pytest.raises(BatchError, match="not a zip"):
            plan(tmp_path / "a.zip")

    def test_zip_stays_inside(self, plan, tmp_path):
        archive = zipped(tmp_path / "a.zip", {"../../ann.py": right(), "bob.py": right()})
        assert who(plan(archive)) == {("bob", "scale")}
        assert not list(tmp_path.rglob("ann.py"))

    def test_link_is_not_followed(self, plan, handed_in, tmp_path):
        folder = handed_in("ann.py")
        (tmp_path / "secret.py").write_text("SECRET = 1")
        (folder / "eve.py").symlink_to(tmp_path / "secret.py")
        found = plan(folder, assignment="scale")
        (eve,) = [task.submission for task in found.tasks if task.students == ["eve"]]
        assert eve.is_symlink()

    def test_no_assignment_can_be_told(self, plan, handed_in):
        found = plan(handed_in("bob.py", **{"ann.py": "x = 1\n"}))
        assert [one.student for one in found.unassigned] == ["ann"]
        assert who(found) == {("bob", "scale")}
