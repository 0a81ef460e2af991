"""``grade run``: what is typed, what is printed, what is written, and the exit code."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import jsonschema
import msgspec
import pytest

from grader.cli.main import run
from grader.report import schema
from grader.report.model import Report

from .conftest import ROOT, SUBMISSIONS

RIGHT = (ROOT / "solutions" / "attention" / "accepted" / "einsum.py").read_text()
WRONG = (SUBMISSIONS / "wrong" / "scale_by_width.py").read_text()


@pytest.fixture
def cli(monkeypatch, warm, capfd):
    """Runs ``grade run`` with a warm process in place of one of its own."""
    monkeypatch.setenv("COLUMNS", "100")

    def run_command(*arguments: object, cwd: Path | None = None):
        if cwd is not None:
            monkeypatch.chdir(cwd)
        capfd.readouterr()
        code = run(["run", *map(str, arguments)])
        return code, *capfd.readouterr()

    return run_command


def read(path: Path) -> dict:
    report = json.loads(path.read_bytes())
    jsonschema.validate(report, json.loads(schema.schema_text()))
    return report


class TestTargets:
    def test_a_file(self, cli, course, hand_in):
        code, out, err = cli(hand_in(RIGHT), "--course", course)
        assert (code, err) == (0, "")
        assert re.search(r"Scaled dot-product attention: (\d+) of \1 points", out)

    def test_an_id_means_the_file_in_the_course(self, cli, course, tmp_path):
        code, out, _ = cli("attention", "--output", tmp_path / "r.json", cwd=course)
        report = read(tmp_path / "r.json")
        assert (code, report["status"], report["score"]["earned"]) == (0, "not-started", 0)
        assert {check["status"] for check in report["checks"]} == {"not-started"}
        assert "Nothing has been filled in yet" in out

    def test_nothing_means_every_assignment(self, cli, course, tmp_path):
        code, _, _ = cli("--output", tmp_path / "r.json", cwd=course)
        assert (code, read(tmp_path / "r.json")["type"]) == (0, "report")

    def test_a_folder(self, cli, course, hand_in, tmp_path):
        path = hand_in(RIGHT, "attention-2.py")
        hand_in(WRONG, "attention-1.py")
        cli(path.parent, "--course", course, "--output", tmp_path / "r.json")
        report = read(tmp_path / "r.json")
        assert report["score"]["earned"] == report["score"]["possible"]
        assert [file["name"] for file in report["submission"]["files"]][:1] == ["attention-2.py"]

    def test_a_students_repository(self, cli, course, hand_in, tmp_path):
        path = hand_in(RIGHT)
        repository = tmp_path / "repository" / "assignments" / "attention"
        repository.mkdir(parents=True)
        path.rename(repository / "attention.py")
        cli(tmp_path / "repository", "--course", course, "--output", tmp_path / "r.json")
        report = read(tmp_path / "r.json")
        assert report["score"]["earned"] == report["score"]["possible"]

    def test_several_make_a_course_report(self, cli, course, hand_in, tmp_path):
        right, wrong = hand_in(RIGHT), hand_in(WRONG, "attention (2).py")
        options = ("--course", course, "--output", tmp_path / "r.json", "--fail-under", "60")
        code, out, _ = cli(right, wrong, *options)
        report = read(tmp_path / "r.json")
        assert (code, report["type"], report["course"]) == (0, "course-report", "A copy")
        earned = [one["score"]["earned"] for one in report["reports"]]
        assert report["score"]["earned"] == sum(earned)
        assert earned[0] > earned[1] > 0
        assert "A copy" in out


class TestExitCodes:
    @pytest.mark.parametrize(
        ("source", "percent", "code"),
        [(RIGHT, "100", 0), (WRONG, "40", 0), (WRONG, "90", 1), ("", "0.1", 1), ("", "0", 0)],
    )
    def test_fail_under(self, cli, course, hand_in, source, percent, code):
        assert cli(hand_in(source), "--course", course, "--fail-under", percent)[0] == code

    def test_a_syntax_error_is_graded(self, cli, course, hand_in):
        code, out, err = cli(hand_in("def f(:"), "--course", course)
        assert (code, err) == (0, "")
        assert "there is a syntax error at line 1" in " ".join(out.split())
        assert "Traceback" not in out

    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (["nowhere.py"], "nowhere.py: there is no such file or folder"),
            (["atention"], "attention"),
            (["--assignment", "gqa"], "gqa"),
            (["--timeout", "0", "attention"], "--timeout"),
            (["--fail-under", "101", "attention"], "--fail-under"),
            (["--seed", "-1", "attention"], "--seed"),
            (["--output", "/nowhere/at/all/r.json", "attention"], "/nowhere/at/all"),
            (["--course", "/nowhere", "attention"], "/nowhere"),
        ],
    )
    def test_wrong_usage(self, cli, course, arguments, words):
        code, out, err = cli(*arguments, cwd=course)
        assert (code, out) == (2, "")
        assert words in err
        assert "Traceback" not in err

    @pytest.mark.parametrize(
        ("text", "line", "words"),
        [
            ("title = 'A'\nexports = 3\n", 2, "found 3 for exports; expected a table"),
            ("title = 'A'\n[exports.f]\nargumnets = []\n", 3, "arguments"),
            ("title = 'A'\n[exports.f\n", 2, "not TOML"),
            ("[exports.f]\n", 1, "title is missing"),
        ],
    )
    def test_a_broken_assignment(self, cli, course, hand_in, text, line, words):
        described = course / "assignments" / "attention" / "assignment.toml"
        described.write_text(text)
        code, out, err = cli(hand_in(RIGHT), "--course", course)
        assert (code, out) == (2, "")
        assert f"{described}, line {line}: " in err.replace("\n", "")
        assert words in err

    @pytest.mark.parametrize(
        ("suite", "words"),
        [
            ("import nothing_of_that_name\n", "nothing_of_that_name"),
            ("def test_plain(student): pass\n", "declares no check"),
            (
                "from grader.suite import check\n"
                "@check('values', points=1, title='x')\ndef test_worked_example(student): pass\n",
                "two checks have the id worked_example",
            ),
            (
                "from grader.suite import check\n"
                "@check('valeus', points=1, title='x')\ndef test_x(student): pass\n",
                "valeus",
            ),
        ],
    )
    def test_a_broken_suite_is_nobodys_fault_but_ours(self, cli, course, hand_in, suite, words):
        (course / "tests" / "hidden" / "test_attention.py").write_text(suite)
        code, out, err = cli(hand_in(RIGHT), "--course", course, "--output", "-")
        assert (code, out) == (3, "")
        assert words in err

    def test_a_broken_reference_is_nobodys_fault_but_ours(self, cli, course, hand_in):
        (course / "solutions" / "attention" / "attention.py").write_text("def f(:")
        code, out, _ = cli(hand_in(RIGHT), "--course", course, "--output", "-")
        assert (code, out) == (3, "")


class TestOutput:
    def test_json_alone_goes_to_standard_output(self, cli, course, hand_in):
        code, out, _ = cli(hand_in(WRONG), "--course", course, "--output", "-")
        assert code == 0
        jsonschema.validate(json.loads(out), json.loads(schema.schema_text()))

    def test_a_student_is_not_shown_what_an_instructor_is(self, cli, course, hand_in, tmp_path):
        source = WRONG.replace("    scores", "    print('printed')\n    scores", 1)
        path = hand_in(source)
        found = {}
        for audience in ("student", "instructor"):
            place = tmp_path / f"{audience}.json"
            cli(path, "--course", course, "--output", place, "--show", audience)
            report = read(place)
            assert report["audience"] == audience
            hidden = [c for c in report["checks"] if c["visibility"] == "hidden"]
            # what a failure in numbers says, and what was printed
            found[audience] = (
                any(check["detail"] for check in hidden),
                any("printed" in check["output"]["text"] for check in hidden),
            )
        assert found == {"student": (False, False), "instructor": (True, True)}

    def test_a_report_that_cannot_be_written_replaces_nothing(
        self, cli, course, hand_in, tmp_path, monkeypatch
    ):
        place = tmp_path / "r.json"
        place.write_text("before")
        monkeypatch.setattr(os, "replace", _refuse)
        monkeypatch.setattr(Path, "replace", _refuse)
        code, _, err = cli(hand_in(RIGHT), "--course", course, "--output", place)
        assert (code, place.read_text()) == (3, "before")
        assert "No space left" in err
        assert [path.name for path in tmp_path.iterdir() if path.suffix == ".json"] == ["r.json"]

    def test_seeds_repeat_a_report(self, cli, course, hand_in, tmp_path):
        path = hand_in(RIGHT.replace("):\n", "):\n    print(query.flatten()[:2])\n", 1))
        reports = []
        for number, options in enumerate([["--seed", "7"], ["--seed", "7"], ["--seed", "8"], []]):
            place = tmp_path / f"{number}.json"
            cli(path, "--course", course, "--output", place, "--show", "instructor", *options)
            reports.append(read(place))
        seen = [[check["output"]["text"] for check in report["checks"]] for report in reports]
        assert [report["seed"] for report in reports[:3]] == [7, 7, 8]
        assert seen[0] == seen[1]
        assert seen[0] != seen[2]
        assert seen[3] not in seen[:3]

    def test_public_checks_only(self, cli, course, hand_in, tmp_path):
        cli(hand_in(RIGHT), "--course", course, "--public", "--output", tmp_path / "r.json")
        report = read(tmp_path / "r.json")
        assert {check["visibility"] for check in report["checks"]} == {"public"}
        assert any("Only the public checks were run" in note for note in report["notes"])

    def test_a_course_without_its_private_side(self, cli, public_course, hand_in, tmp_path):
        code, out, _ = cli(
            hand_in(WRONG), "--course", public_course, "--output", tmp_path / "r.json"
        )
        report = read(tmp_path / "r.json")
        assert code == 0
        assert {check["visibility"] for check in report["checks"]} == {"public"}
        assert any("no hidden checks here" in note for note in report["notes"])
        assert "no hidden checks here" in " ".join(out.split())
        assert 0 < report["score"]["earned"] < report["score"]["possible"]


def _refuse(*_: object, **__: object) -> None:
    raise OSError(28, "No space left on device")


class TestTimeout:
    SOURCE = RIGHT.replace("):\n", "):\n    while 'bfloat16' in str(query.dtype): pass\n", 1)

    def test_only_the_check_that_loops_is_lost(self, cli, course, hand_in, tmp_path):
        assert "while" in self.SOURCE
        path = hand_in(self.SOURCE)
        cli(path, "--course", course, "--timeout", "2", "--output", tmp_path / "r.json")
        lost = {
            c["id"]: c["status"] for c in read(tmp_path / "r.json")["checks"] if not c["earned"]
        }
        assert lost == {"bfloat16": "timeout"}


class TestAsAProcess:
    """The command as it is typed, in a pipe, with everything started by itself."""

    def test_it_grades_and_leaves_nobody_behind(self, course, hand_in, tmp_path):
        source = WRONG + "\nimport os\nprint('worker', os.getpid())\n"
        place = tmp_path / "r.json"
        arguments = ["--course", course, "--output", place, "--seed", "5", "--fail-under", "99"]
        done = subprocess.run(
            [sys.executable, "-m", "grader.cli", "run", hand_in(source), *arguments],
            capture_output=True,
            encoding="utf-8",
            env={**os.environ, "GRADE_SECRET": "canary", "PYTHONPATH": str(ROOT)},
        )
        assert done.returncode == 1
        assert done.stderr == ""
        assert "\x1b" not in done.stdout
        report = msgspec.json.decode(place.read_bytes(), type=Report)
        assert 0 < report.score.earned < report.score.possible
        worker = int(report.output.text.split()[1])
        assert not Path(f"/proc/{worker}").exists()
        assert report.sandbox.level != "none"
        assert "no new privileges" in report.sandbox.enforced


def test_an_archive_that_attacks_is_a_report_and_no_score(cli, course, tmp_path):
    path = tmp_path / "answer.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("../attention.py", RIGHT)
    code, out, _ = cli(path, "--course", course, "--assignment", "attention")
    assert code == 0
    assert "could not be graded" in out
    assert "would be unpacked outside of it" in " ".join(out.split())
    code, _, _ = cli(path, "--course", course, "--assignment", "attention", "--fail-under", "1")
    assert code == 1
