"""``grade batch`` in one process: the reports, the tables, and what is not done twice."""

from __future__ import annotations

import json
import os

import pytest

from grader.batch.plan import file_name
from grader.report.files import decode
from grader.report.safe import cell

from .conftest import right, write, wrong

BROKEN = "def scale(x:\n"
CRASHES = "import os\ndef scale(x):\n    os._exit(0)\n"


class TestOneBatch:
    def test_reports_and_tables(self, batch, tmp_path):
        folder = write(
            tmp_path / "in",
            {
                "ann/scale.py": right(),
                "ann/shift.py": wrong("shift"),
                "bob/scale.py": wrong(),
                "cem/scale.py": CRASHES,
                "dee/scale.py": "",
                "eve/notes.py": "x = 1\n",
            },
        )
        done = batch(folder, "--jobs", 2)
        assert done.exit_code == 0, done.output
        assert batch.grades == [
            dict(zip(("student", "scale", "shift", "total", "status"), row, strict=True))
            for row in (
                ("ann", "6", "0", "6", "graded"),
                ("bob", "0", "", "0", "shift missing"),
                ("cem", "0", "", "0", "shift missing"),
                ("dee", "", "", "", "scale not-gradable; shift missing"),
                ("eve", "", "", "", "not-recognised"),
            )
        ]
        report = batch.report("ann")
        assert report["score"] == {"earned": 6, "possible": 6}
        assert report["audience"] == "instructor"
        summary = batch.summary
        assert summary["schema_version"] == 1
        assert summary["complete"]
        assert summary["counts"] == {
            "students": 5,
            "submissions": 5,
            "graded": 4,
            "not_started": 0,
            "not_gradable": 1,
            "grading_failed": 0,
            "open": 0,
            "kept": 0,
        }
        scale, shift = summary["assignments"]
        assert (scale["mean"], scale["median"], scale["scored"]) == (2.0, 0.0, 3)
        assert (shift["id"], shift["possible"], shift["highest"]) == ("shift", 6, 0)
        assert [(one["faults"], one["students"]) for one in summary["misconceptions"]] == [
            (["doubled"], ["bob"]),
            (["doubled"], ["ann"]),
        ]
        assert [one["student"] for one in summary["crashed"]] == ["cem"]
        assert [one["student"] for one in summary["not_gradable"]] == ["dee"]
        assert [one["student"] for one in summary["unassigned"]] == ["eve"]

    def test_a_line_for_each_submission_without_a_terminal(self, batch, tmp_path):
        folder = write(tmp_path / "in", {"ann.py": right(), "bob.py": wrong()})
        lines = batch(folder, "--jobs", 1).stderr.splitlines()
        assert lines[0] == f"{folder}: files, one for each student, 2 students"
        assert "no name says for which assignment 2 submissions are handed in" in lines[1]
        assert "--assignment ID" in lines[1]
        assert lines[2] == "2 submissions to grade"
        assert lines[3].startswith("1/2 ann: scale 6/6, ")
        assert lines[4].startswith("2/2 bob: scale 0/6, ")

    def test_one_of_each_is_said_in_the_singular(self, batch, tmp_path):
        done = batch(write(tmp_path / "in", {"ann/scale.py": right()}), "--jobs", 1)
        assert "one student's folder, 1 student\n" in done.stderr
        assert "no name says" not in done.stderr
        assert "1 submission to grade\n" in done.stderr
        assert "1 submission of 1 student: 1 graded" in done.stdout

    def test_what_does_not_run_and_what_is_the_same_is_said(self, batch, tmp_path):
        missing = "def other(x):\n    return x\n"
        folder = write(
            tmp_path / "in",
            {
                "ann/scale.py": wrong(),
                "bob/scale.py": wrong(),
                "cem/scale.py": "def scale(x)\n    return x\n",
                "dee/scale.py": missing,
                "eve/scale.py": "def scale(x):\n    raise NotImplementedError\n",
                "flo/scale.py": "def scale(x):\n    raise NotImplementedError\n",
            },
        )
        done = batch(folder, "--jobs", 1, "--assignment", "scale")
        summary = batch.summary
        assert summary["copies"] == [{"assignment": "scale", "students": ["ann", "bob"]}]
        said = {one["student"]: one["message"] for one in summary["does_not_run"]}
        assert said.keys() == {"cem", "dee"}
        assert "syntax error at line 1" in said["cem"]
        assert "does not define scale" in said["dee"]
        assert "Does not run: cem (scale), dee (scale)" in done.stdout
        assert "Identical files: ann, bob (scale)" in done.stdout

    def test_group_is_graded_once_and_each_member_has_a_report(self, batch, tmp_path):
        described = "submission_1:\n  :submitters:\n  - :name: Ann\n  - :name: Bob\n"
        files = {"submission_1/scale.py": right(), "submission_metadata.yml": described}
        assert batch(write(tmp_path / "in", files)).exit_code == 0
        assert len(batch.graded) == 1
        assert batch.report("Ann") == batch.report("Bob")
        assert [row["total"] for row in batch.grades] == ["6", "6"]

    def test_public_checks_alone(self, batch, tmp_path):
        folder = write(tmp_path / "in", {"ann.py": right()})
        assert batch(folder, "--public", "--timeout", "5").exit_code == 0
        assert batch.grades[0]["total"] == "1"

    def test_namesakes_keep_their_own_reports(self, batch, tmp_path):
        files = {"lee_12_1_scale.py": right(), "lee_13_2_scale.py": wrong()}
        assert batch(write(tmp_path / "in", files)).exit_code == 0
        assert batch.report("lee (12)")["score"]["earned"] == 6
        assert batch.report("lee (13)")["score"]["earned"] == 0
        assert [row["student"] for row in batch.grades] == ["lee (12)", "lee (13)"]

    def test_wrong_usage(self, batch, tmp_path):
        assert batch(tmp_path / "nothing").exit_code == 2
        assert batch(write(tmp_path / "in", {"a.txt": "", "b/c.txt": ""})).exit_code == 2
        assert batch(tmp_path / "in", "--assignment", "sale").exit_code == 2

    @pytest.mark.parametrize(
        ("old", "new"),
        [
            ("import torch", "import nothing_of_that_name"),
            ("student.scale(", "student.nothing_of_that_name("),
        ],
    )
    def test_wrong_course(self, batch, course, tmp_path, old, new):
        folder = write(tmp_path / "in", {"ann.py": right()})
        suite = course / "tests" / "hidden" / "test_scale.py"
        text = suite.read_text()
        assert old in text
        try:
            suite.write_text(text.replace(old, new))
            done = batch(folder, "--jobs", 1)
        finally:
            suite.write_text(text)
        # No student is to blame, so nobody has a score, and the next run begins with it again.
        assert done.exit_code == 3
        assert "nothing_of_that_name" in done.stderr
        assert batch.grades == [{"student": "ann", "scale": "", "total": "", "status": "open"}]
        assert batch(folder).exit_code == 0


class TestNoWorkTwice:
    def again(self, batch, *arguments) -> list[str]:
        """The submissions that a further run grades."""
        assert batch(*arguments).exit_code == 0
        return sorted(os.path.basename(os.fsdecode(job.submission)) for job in batch.graded)

    @pytest.fixture
    def folder(self, batch, tmp_path):
        folder = write(tmp_path / "in", {"ann.py": right(), "bob.py": wrong(), "dee.py": BROKEN})
        assert self.again(batch, folder) == ["ann.py", "bob.py", "dee.py"]
        return folder

    def test_what_has_not_changed_is_kept(self, batch, folder):
        before = (batch.output / "grades.csv").read_bytes()
        report = batch.report("ann")
        assert self.again(batch, folder) == []
        assert batch.report("ann") == report
        assert (batch.output / "grades.csv").read_bytes() == before
        assert batch.summary["counts"]["kept"] == 3

    def test_what_has_changed_is_graded(self, batch, folder):
        (folder / "bob.py").write_text(right())
        assert self.again(batch, folder) == ["bob.py"]
        assert [row["total"] for row in batch.grades] == ["6", "6", "0"]

    @pytest.mark.parametrize(
        "options", [["--regrade"], ["--seed", "1"], ["--public"], ["--timeout", "3"]], ids=" ".join
    )
    def test_other_options_grade_again(self, batch, folder, options):
        assert self.again(batch, folder, *options) == ["ann.py", "bob.py", "dee.py"]

    def test_another_suite_grades_again(self, batch, folder, course):
        suite = course / "tests" / "hidden" / "test_scale.py"
        text = suite.read_text()
        try:
            suite.write_text(text + "\n# Another one.\n")
            assert self.again(batch, folder) == ["ann.py", "bob.py", "dee.py"]
        finally:
            suite.write_text(text)

    def test_report_that_was_spoilt_is_made_again(self, batch, folder):
        path = batch.output / "reports" / "scale" / "ann.json"
        whole = path.read_bytes()
        path.write_bytes(whole[:100])
        (batch.output / "reports" / "scale" / "bob.json").unlink()
        assert self.again(batch, folder) == ["ann.py", "bob.py"]
        decode(path.read_bytes())

    def test_journal_whose_last_line_is_torn(self, batch, folder):
        journal = batch.output / ".batch" / "journal.jsonl"
        journal.write_bytes(journal.read_bytes()[:-20])
        assert len(self.again(batch, folder)) == 1
        assert self.again(batch, folder) == []

    def test_seeds_are_fresh_and_kept(self, batch, folder):
        seeds = {json.dumps(batch.report(name)["seed"]) for name in ("ann", "bob", "dee")}
        assert len(seeds) == 3


class TestNamesInTables:
    @pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@x", " =1", "\uff1d1"])
    def test_no_cell_is_a_formula(self, name):
        assert cell(name).startswith("'")

    def test_ordinary_cells_stay(self):
        assert cell("José O'Neil-Smith") == "José O'Neil-Smith"

    def test_formula_as_a_name(self, batch, tmp_path):
        name = '=HYPERLINK("x")'
        assert batch(write(tmp_path / "in", {f"{name}.py": right()})).exit_code == 0
        assert batch.grades[0]["student"] == f"'{name}"

    def test_file_names_are_safe_and_different(self):
        names = [
            "",
            ".",
            "..",
            "a/b",
            "a%2Fb",
            "A\0",
            "José",
            "José\n",
            "x" * 300,
            "x" * 301,
            "ж" * 90,
        ]
        made = [file_name(name) for name in names]
        assert len(set(made)) == len(names)
        assert all(
            len(name.encode()) <= 120 and "/" not in name and name[0] != "." for name in made
        )
        assert file_name("Jose\u0301") == file_name("José") == "José"


class TestChain:
    def test_open_points_of_an_imported_file_are_pointed_out_once(self, batch, tmp_path):
        chained = "from scale import scale\ndef shift(x):\n    return scale(x)\n"
        files = {"ann/scale.py": wrong(), "ann/shift.py": chained, "bob/scale.py": wrong()}
        folder = write(tmp_path / "in", files)
        for _ in range(2):
            assert batch(folder, "--chain").exit_code == 0
            report = batch.report("ann", "shift")
            assert report["open_imports"] == ["scale"]
            failed = [
                one["open_imports"]
                for one in report["checks"]
                if one["status"] == "failed" and one["because"] is None
            ]
            assert failed
            assert all(imports == ["scale"] for imports in failed)
        assert batch.graded == []
        assert batch.report("ann")["open_imports"] == []

        (folder / "ann" / "scale.py").write_text(right())
        assert batch(folder, "--chain").exit_code == 0
        assert batch.report("ann", "shift")["open_imports"] == []
