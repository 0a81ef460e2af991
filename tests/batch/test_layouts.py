"""What one student chooses changes nothing about anybody else, in any layout."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from grader.batch.class_folder import ClassFolder
from grader.batch.class_page import write_pages
from grader.batch.errors import BatchError
from grader.batch.layouts.exports import is_export
from grader.batch.plan import Plan, make_plan
from grader.batch.recognise import all_layouts
from grader.course.loading import load_course

from .conftest import in_zip, right, write, wrong

HONEST = ("ann", "bob", "cem")
DATE = "2026-01-02-03-04-05"
RECEIPT = "Name: {name} ({login})\nAssignment: Scale\n\nComments:\nName: Ann (ann)\n"

FILES = (
    "x_ann_attempt_2030-01-01-00-00-00_scale.py",
    "Scale_ann_attempt_2030-01-01-00-00-00.txt",
    "attempt_2030-01-01-00-00-00_scale.py",
    "ann_11_901_scale.py",
    "11_901_scale-9.py",
    "LATE_11_901_scale.py",
    "question_7_901_scale.py",
    "anon_11_901_scale.py",
    "ann_11_assignsubmission_file_scale.py",
    "_11_assignsubmission_file_scale.py",
    "submission_metadata.yml",
    "timestamp.txt",
    "scale.py",
    "shift.py",
    "scale-9.py",
    "scale (9).py",
    "ann (9).py",
    "bob-9.py",
    "scale_ann.py",
    "ann_scale.py",
    "submitted.zip",
    "assignments.ipynb",
)
"""What a student may call a file."""

TREES: tuple[tuple[str, ...], ...] = (
    *((name,) for name in FILES),
    ("timestamp.txt", "scale/timestamp.txt", "scale/scale.py", "scale.py"),
    ("scale/scale.py", "scale/timestamp.txt", "shift/shift.py", "shift/timestamp.txt"),
    ("submitted/ann/scale/scale.py", "submitted/ann/scale/timestamp.txt"),
    ("assignments/scale/scale.py", ".git/HEAD"),
    ("scale-ann/.git/HEAD", "scale-ann/scale.py", "scale-bob/.git/HEAD", "scale-bob/scale.py"),
    ("ann_11_assignsubmission_file_/scale.py", "bob_12_assignsubmission_file_/scale.py"),
    ("submission_metadata.yml", "submission_101/scale.py"),
    ("ann/scale.py", "bob/scale.py", "cem.py"),
    ("scale/ann.py", "shift/ann.py"),
)
"""What a student may put into a folder of their own."""


def text_of(student: str) -> str:
    return f"{right()}# {student}\n"


def tree_of(names: tuple[str, ...]) -> dict[str, str]:
    """The hostile student's files: the metadata would give away others, if it were believed."""
    described = "submission_101:\n  :submitters:\n  - :name: ann\n"
    texts = {"yml": described, "txt": "Name: Ann (ann)\n2026-10-01 10:00:00 UTC", "zip": ""}
    return {name: texts.get(name.rpartition(".")[2], wrong()) for name in names}


def planned(folder: Path, course: Path, tmp_path: Path, **options: str) -> Plan:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    return make_plan([folder], load_course(course), scratch, **options)


def read(plan: Plan, student: str) -> list[str]:
    """The texts that are graded as the student's, whose label is a login or a name."""
    found = []
    for task in plan.tasks:
        if [name.lower() for name in task.students] == [student]:
            path = task.submission
            files = [path] if path.is_file() else [path / "scale.py", *path.rglob("*.py")]
            found.append(files[0].read_text())
    return found


def gradescope(folder: Path, trees: dict[str, dict[str, str]]) -> None:
    lines = ["---"]
    for number, (student, tree) in enumerate(trees.items(), 101):
        write(folder, {f"submission_{number}/{name}": text for name, text in tree.items()})
        lines += [f"submission_{number}:", "  :submitters:", f"  - :name: {student}"]
    write(folder, {"submission_metadata.yml": "\n".join(lines)})


def in_folders(pattern: str) -> Callable[[Path, dict[str, dict[str, str]]], None]:
    def lay_out(folder: Path, trees: dict[str, dict[str, str]]) -> None:
        for number, (student, tree) in enumerate(trees.items(), 11):
            base = pattern.format(student=student, number=number)
            write(folder, {f"{base}/{name}": text for name, text in tree.items()})
            if pattern.startswith("scale-"):
                write(folder, {f"{base}/.git/HEAD": ""})
            if pattern.endswith("/scale"):
                write(folder, {f"{base}/timestamp.txt": "2026-01-01 10:00:00 UTC"})

    return lay_out


def in_files(pattern: str) -> Callable[[Path, dict[str, dict[str, str]]], None]:
    def lay_out(folder: Path, trees: dict[str, dict[str, str]]) -> None:
        for number, (student, tree) in enumerate(trees.items(), 11):
            base = pattern.format(student=student, number=number)
            write(folder, {f"{base}{name}": text for name, text in tree.items()})
            if "attempt" in pattern:
                receipt = RECEIPT.format(name=student.title(), login=student)
                write(folder, {f"{base.rstrip('_')}.txt": receipt})

    return lay_out


OF_FOLDERS = {
    "gradescope": gradescope,
    "moodle": in_folders("{student}_{number}_assignsubmission_file_"),
    "github-classroom": in_folders("scale-{student}"),
    "nbgrader": in_folders("{student}/scale"),
    "folders": in_folders("{student}"),
}
OF_FILES = {
    "canvas": in_files("{student}_{number}_9{number}_"),
    "moodle": in_files("{student}_{number}_assignsubmission_file_"),
    "blackboard": in_files(f"Scale_{{student}}_attempt_{DATE}_"),
}


class TestOthers:
    """Three honest students, and one who knows how platforms call things."""

    def check(self, plan: Plan, layout: str) -> None:
        assert all_layouts()[layout].TITLE in plan.layouts[0]
        for student in HONEST:
            assert read(plan, student) == [text_of(student)]
        assert not any(name in said for name in HONEST for said in plan.left_out)

    @pytest.mark.parametrize("layout", OF_FOLDERS)
    @pytest.mark.parametrize("names", TREES, ids="+".join)
    def test_are_read_as_ever_beside_a_hostile_folder(self, course, tmp_path, layout, names):
        trees = {student: {"scale.py": text_of(student)} for student in HONEST}
        OF_FOLDERS[layout](tmp_path / "in", {"aaa": tree_of(names), **trees, "eve": tree_of(names)})
        plan = planned(tmp_path / "in", course, tmp_path, assignment="scale")
        self.check(plan, layout)
        assert {name for task in plan.tasks for name in task.students} == {*HONEST, "aaa", "eve"}

    @pytest.mark.parametrize("layout", OF_FILES)
    @pytest.mark.parametrize("name", FILES)
    def test_are_read_as_ever_beside_a_hostile_file(self, course, tmp_path, layout, name):
        trees = {student: {"scale.py": text_of(student)} for student in HONEST}
        hostile = {"aaa": tree_of((name,)), **trees, "eve": tree_of((name,))}
        OF_FILES[layout](tmp_path / "in", hostile)
        plan = planned(tmp_path / "in", course, tmp_path, assignment="scale")
        assert all_layouts()[layout].TITLE in plan.layouts[0]
        for student in HONEST:
            assert read(plan, student) == [text_of(student)]
        names = {name.lower() for task in plan.tasks for name in task.students}
        assert names <= {*HONEST, "aaa", "eve"}

    @pytest.mark.parametrize("name", FILES)
    def test_are_read_as_ever_in_a_folder_of_loose_files(self, course, tmp_path, name):
        write(tmp_path / "in", {f"{student}.py": text_of(student) for student in HONEST})
        write(tmp_path / "in", tree_of((name,)))
        plan = planned(tmp_path / "in", course, tmp_path, assignment="scale")
        for student in HONEST:
            assert read(plan, student) == [text_of(student)]

    @pytest.mark.parametrize("names", TREES, ids="+".join)
    def test_are_read_as_ever_beside_a_hostile_zip(self, course, tmp_path, names):
        write(tmp_path / "in", {f"{student}.py": text_of(student) for student in HONEST})
        for student in ("aaa", "scale_eve"):
            (tmp_path / "in" / f"{student}.zip").write_bytes(in_zip(tree_of(names)))
        plan = planned(tmp_path / "in", course, tmp_path, assignment="scale")
        self.check(plan, "files")
        assert {name for task in plan.tasks for name in task.students} == {*HONEST, "aaa", "eve"}

    @pytest.mark.parametrize(
        "name",
        [
            '"Eve, who is known for her long name and more than one line: yes\n      :sid: 1001"',
            "'Eve, who is known for her long name and more than one line: yes\n      :sid: 1001'",
            "|-\n      Eve\n      :sid: 1001",
            r'"Eve\n  :sid: 1001"',
            r'"Eve \U00110000 \UFFFFFFFF \U0000D800 \ud800 \e \\UFFFFFFFF"',
            "'submission_101:'",
            "'Eve\u2028submission_101:\u2028  :submitters:\u2028  - :sid: 1009'",
            "Eve\x85submission_103:\x85  :submitters:\x0c  - :sid: 1009",
            "'Eve, whose quotation never ends",
        ],
    )
    def test_keep_their_ids_whatever_name_somebody_has(self, course, tmp_path, name):
        people = (("Ann", "1001"), (name, "1002"), ("Bob", "1003"))
        lines = ["---"]
        for number, (each, sid) in enumerate(people, 101):
            write(tmp_path / "in", {f"submission_{number}/scale.py": right()})
            lines += [f"submission_{number}:", "  :submitters:", f"  - :name: {each}"]
            lines += [f"    :sid: '{sid}'", f"    :email: s{sid}@example.org"]
            lines += ["  :created_at: 2026-01-02 03:04:05.0 Z"]
        write(tmp_path / "in", {"submission_metadata.yml": "\n".join(lines)})
        ids = {
            one.folder.name: (one.id, one.email)
            for one in all_layouts()["gradescope"].find(_place(tmp_path / "in", tmp_path)).hand_ins
        }
        assert ids == {
            f"submission_{number}": (sid, f"s{sid}@example.org")
            for number, (_, sid) in enumerate(people, 101)
        }


def _place(folder: Path, tmp_path: Path) -> ClassFolder:
    scratch = tmp_path / "unpacked"
    scratch.mkdir()
    return ClassFolder(folder, ("scale", "shift"), scratch)


MOST = {
    "canvas": [f"s{number}_1{number}_9{number}_scale.py" for number in range(5)],
    "moodle": [f"s{number}_1{number}_assignsubmission_file_/a.py" for number in range(5)],
    "blackboard": [f"Scale_s{number}_attempt_{DATE}_scale.py" for number in range(5)],
    "nbgrader": [
        f"s{number}/scale/{name}" for number in range(5) for name in ("a.py", "timestamp.txt")
    ],
    "github-classroom": [
        f"scale-s{number}/{name}" for number in range(5) for name in ("a.py", ".git/HEAD")
    ],
    "folders": [f"s{number}/a.py" for number in range(5)],
    "files": [f"s{number}.py" for number in range(5)],
    "one-student": ["scale.py", "shift.ipynb"],
    "by-assignment": ["scale/s0.py", "scale/s1.py", "shift/s0.py", "shift/s2.py"],
}
ODD = (
    *("odd.py", "odd_19_99_scale.py", f"Scale_odd_attempt_{DATE}_scale.py", "scale.zip"),
    *("odd/a.py", "odd_19_assignsubmission_file_/a.py", "odd/scale/timestamp.txt"),
    *("scale-odd/.git/HEAD", "submitted/odd/scale/a.py", "assignments/scale/scale.py"),
)


class TestChoice:
    @pytest.mark.parametrize("odd", ODD)
    @pytest.mark.parametrize("layout", MOST)
    def test_an_odd_entry_does_not_decide(self, course, tmp_path, layout, odd):
        write(tmp_path / "in", dict.fromkeys(MOST[layout], right()))
        before = _students(planned(tmp_path / "in", course, tmp_path, assignment="scale"))
        write(tmp_path / "in", {odd: right()})
        (tmp_path / "scratch").rename(tmp_path / "before")
        assert before <= _students(planned(tmp_path / "in", course, tmp_path, assignment="scale"))

    @pytest.mark.parametrize(
        ("files", "names"),
        [
            (["ann.py", "bob_1_2_scale.py"], ("canvas", "files")),
            (["ann/a.py", "bob_1_assignsubmission_file_/a.py"], ("moodle", "folders")),
            (["scale.py", "ann.py"], ("one-student", "files")),
            (["ann_1_2_scale.py", f"Scale_bob_attempt_{DATE}_a.py"], ("canvas", "blackboard")),
        ],
    )
    def test_of_two_that_fit_alike_is_yours(self, course, tmp_path, batch, files, names):
        folder = write(tmp_path / "in", dict.fromkeys(files, right()))
        done = batch(folder, "--assignment", "scale")
        assert done.exit_code == 2
        assert all(f"--layout {name}" in done.stderr for name in names)
        plans = []
        for name in names:
            scratch = tmp_path / name
            scratch.mkdir()
            options = {"assignment": "scale", "layout": name}
            plans.append(make_plan([folder], load_course(course), scratch, **options))
        assert _students(plans[0]) != _students(plans[1])

    @pytest.mark.parametrize("layout", MOST)
    def test_a_layout_that_is_given_is_taken(self, course, tmp_path, layout):
        folder = write(tmp_path / "in", dict.fromkeys(MOST[layout], right()))
        plan = planned(folder, course, tmp_path, assignment="scale", layout=layout)
        assert all_layouts()[layout].TITLE in plan.layouts[0]
        assert plan.tasks

    def test_a_layout_that_is_given_and_not_there(self, course, tmp_path):
        folder = write(tmp_path / "in", {"ann/a.py": right(), "bob/a.py": right()})
        with pytest.raises(BatchError, match="Canvas"):
            planned(folder, course, tmp_path, layout="canvas")

    def test_every_layout_is_listed(self, batch):
        done = batch("--layout", "list")
        assert done.exit_code == 0
        listed = [line.split()[0] for line in done.stdout.splitlines()]
        assert listed == list(all_layouts())
        assert {"canvas", "moodle", "blackboard", "gradescope", "github-classroom"} <= set(listed)
        assert {"nbgrader", "folders", "files"} <= set(listed)

    @pytest.mark.parametrize("words", [["--layout", "Canvass"], ["--layout", "files", *"pq"]])
    def test_wrong_usage(self, batch, tmp_path, words):
        if words[-1] == "q":
            words = ["--layout", "files", "--pattern", "{student}.py"]
        done = batch(write(tmp_path / "in", {"ann.py": right()}), *words)
        assert done.exit_code == 2
        assert "--layout" in done.stderr


def _students(plan: Plan) -> set[tuple[str, str]]:
    return {(name, task.assignment) for task in plan.tasks for name in task.students}


class TestLeftOut:
    @pytest.mark.parametrize("odd", ["odd/a.py", "odd.ipynb", "odd.zip", "odd/deep/er.py"])
    def test_is_said_everywhere_once_the_rest_is_graded(self, batch, tmp_path, odd):
        names = [f"s{number}_1{number}_9{number}_scale.py" for number in range(3)]
        folder = write(tmp_path / "in", dict.fromkeys(names, right()))
        write(folder, {odd: right()})
        write(folder, {"readme.md": "", "grades.csv": "", ".DS_Store": "", "notes/a.txt": ""})
        done = batch(folder, "--jobs", 1)
        assert done.exit_code == 2
        name = odd.partition("/")[0]
        assert [row["total"] for row in batch.grades] == ["6", "6", "6"]
        assert batch.summary["left_out"] == [f"{folder}: {name}"]
        assert "1 submission was left out" in done.stderr
        assert "--layout NAME" in done.stderr
        assert "--pattern" in done.stderr
        page, _ = write_pages(batch.output)
        assert f"{folder}: {name}" in page.read_text()
        assert batch(folder, "--jobs", 1).exit_code == 2  # nor is it forgotten

    @pytest.mark.parametrize("layout", MOST)
    def test_what_is_no_submission_does_not_count(self, course, tmp_path, layout):
        folder = write(tmp_path / "in", dict.fromkeys(MOST[layout], right()))
        write(folder, {"readme.md": "", "a.csv": "", ".DS_Store": "", "__MACOSX/a.py": ""})
        write(folder, {"submission_metadata.yml": "", "index.html": "", "timestamp.txt": ""})
        assert planned(folder, course, tmp_path, assignment="scale").left_out == []

    def test_what_belongs_to_nbgraders_course_does_not_count(self, course, tmp_path):
        own = ("source/scale/a.py", "release/scale/a.py", "autograded/ann/scale/a.py")
        files = (*own, "feedback/ann/a.py", "nbgrader_config.py", "submitted/ann/scale/a.py")
        folder = write(tmp_path / "in", dict.fromkeys(files, right()))
        plan = planned(folder, course, tmp_path)
        assert _students(plan) == {("ann", "scale")}
        assert plan.left_out == []

    @pytest.mark.parametrize(
        ("files", "left"),
        [
            (
                [*(f"submitted/{one}/scale/a.py" for one in HONEST), "submitted/ann/b.py"],
                "submitted/ann/b.py",
            ),
            ([*MOST["by-assignment"], "scale/s1 (2).py"], "scale/s1 (2).py"),
            ([*MOST["by-assignment"], "other/a.py"], "other"),
            ([*MOST["github-classroom"], "other/a.py"], "other"),
        ],
    )
    def test_is_found_wherever_it_lies(self, course, tmp_path, files, left):
        folder = write(tmp_path / "in", dict.fromkeys(files, right()))
        plan = planned(folder, course, tmp_path)
        assert plan.left_out == [f"{folder}: {left}"]

    def test_copies_that_may_be_somebody_elses(self, course, tmp_path):
        files = ("scale.py", "scale (1).py", "scale-2.ipynb", "shift (3).py", "shift (4).py")
        folder = write(tmp_path / "in", dict.fromkeys(files, right()))
        plan = planned(folder, course, tmp_path)
        assert _students(plan) == {("in", "scale"), ("in", "shift")}
        left = ("scale (1).py", "scale-2.ipynb", "shift (3).py")
        assert plan.left_out == [f"{folder}: {name}" for name in left]

    @pytest.mark.parametrize(
        "name", ["x" * 300 + ".py", "a/" * 3000 + "b.py", "s0_10_90_a.py/b.py"]
    )
    def test_a_name_that_no_disk_takes_hides_no_export(self, course, tmp_path, name):
        names = [f"s{number}_1{number}_9{number}_a.py" for number in range(3)]
        outline = {**dict.fromkeys(names, right()), name: right()}
        (tmp_path / "scale.zip").write_bytes(in_zip(outline))
        assert is_export(_place(tmp_path, tmp_path), tmp_path / "scale.zip")

    def test_inside_of_an_export(self, course, tmp_path):
        folder = tmp_path / "in"
        folder.mkdir()
        for id in ("scale", "shift"):
            names = [f"s{number}_1{number}_9{number}_a.py" for number in range(3)]
            export = {name: right(id) for name in names} | {"odd.py": right(id)}
            (folder / f"{id}.zip").write_bytes(in_zip(export))
        plan = planned(folder, course, tmp_path)
        assert _students(plan) == {(f"s{n}", id) for n in range(3) for id in ("scale", "shift")}
        assert plan.left_out == [f"{folder}: scale.zip/odd.py", f"{folder}: shift.zip/odd.py"]


class TestWhoHandedIn:
    def test_logins_and_addresses_come_from_the_platform(self, tmp_path):
        write(
            tmp_path / "in",
            {
                f"Scale_ann_lee_attempt_{DATE}_a.py": right(),
                f"Scale_ann_lee_attempt_{DATE}.txt": "Name: Ann Lee (ann_lee)\n",
                f"Scale_bo_attempt_{DATE}_a.py": right(),
                f"Scale_cem_x_attempt_{DATE}_a.py": right(),
                f"Scale_cem_x_attempt_{DATE}.txt": "Name: Ann Lee (ann_lee)\n",
            },
        )
        found = all_layouts()["blackboard"].find(_place(tmp_path / "in", tmp_path)).hand_ins
        assert [(one.student, one.login, one.assignment) for one in found] == [
            ("Ann Lee", "ann_lee", "Scale"),
            ("bo", "bo", "Scale"),
            ("cem_x", "cem_x", "Scale"),
        ]

    @pytest.mark.parametrize("title", ["Scale", "Home_work_scale"])
    def test_logins_with_underscores_where_no_text_file_says_so(self, tmp_path, title):
        logins = ("ann", "x_ann", "bob")
        names = [f"{title}_{login}_attempt_{DATE}_a.py" for login in logins]
        write(tmp_path / "in", dict.fromkeys(names, right()))
        found = all_layouts()["blackboard"].find(_place(tmp_path / "in", tmp_path)).hand_ins
        assert {(one.login, one.assignment) for one in found} == {(one, title) for one in logins}

    def test_a_quiz_of_canvas(self, course, tmp_path):
        files = ("ann_1_question_7_91_a.py", "ann_1_question_8_92_a.py", "bob_2_question_7_93_a.py")
        folder = write(
            tmp_path / "in",
            dict(zip(files, (right(), right("shift"), right()), strict=True)),
        )
        plan = planned(folder, course, tmp_path)
        assert _students(plan) == {("ann", "scale"), ("ann", "shift"), ("bob", "scale")}

    @pytest.mark.parametrize("layout", OF_FILES)
    def test_who_handed_in_no_code_is_not_forgotten(self, course, tmp_path, layout):
        trees = {student: {"scale.py": right(), "scale.pdf": ""} for student in HONEST}
        OF_FILES[layout](tmp_path / "in", {**trees, "dee": {"scale.pdf": "", "notes.txt": ""}})
        plan = planned(tmp_path / "in", course, tmp_path, assignment="scale")
        assert {name.lower() for name, _ in _students(plan)} == {*HONEST, "dee"}
        assert plan.left_out == []
        for task in plan.tasks:
            names = {path.suffix for path in task.submission.rglob("*")}
            assert task.submission.suffix == ".py" or names == {".pdf", ".txt"}

    def test_nothing_to_grade_is_missing(self, batch, tmp_path):
        folder = write(
            tmp_path / "in", {"ann/scale.py": right(), "bob/scale.py": right(), "cem/a.txt": ""}
        )
        done = batch(folder, "--jobs", 1)
        assert done.exit_code == 0
        assert "cem: there is no .py, .ipynb or .zip file" in done.stderr
        assert {row["student"]: row["status"] for row in batch.grades}["cem"] == "missing"
