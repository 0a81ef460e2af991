"""``grade test-my-tests`` as it is typed: what it prints and writes, and its exit codes."""

from __future__ import annotations

import json

import jsonschema
import pytest
from click.testing import CliRunner

from grader.cli.main import grade, run
from grader.owntests import schema
from grader.wire.errors import SandboxMissing
from grader.workers import bubblewrap

from ..starting import start_with
from ..toy import make_course

ZERO = """
import torch
from scale import scale

def test_zero():
    assert scale(torch.zeros(1)) == 1
"""


@pytest.fixture
def course(tmp_path):
    return make_course(tmp_path / "course")


def typed(*words: str):
    """What a command printed, and its exit code."""
    result = CliRunner().invoke(grade, ["test-my-tests", *words])
    return result.output, result.exit_code


def test_a_student_reads_the_verdict_and_what_would_be_missed(course, tmp_path):
    tests, report = tmp_path / "test_zero.py", tmp_path / "report.json"
    tests.write_text(ZERO)
    output, code = typed(
        "scale", str(tests), "--course", str(course), "--output", str(report), "--fail-under", "50"
    )
    assert code == 1  # one of three is less than half
    assert output == (
        "Scale and shift: 1 test in test_zero.py\n\n"
        "valid     yes: all 2 right answers pass\n"
        "thorough  1 of 3 faults caught\n\n"
        "Your tests would miss:\n"
        "- results of the right shape that hold the wrong numbers (1 of 2)\n"
        "- gradients that do not arrive, or are wrong (1 of 1)\n"
    )
    written = json.loads(report.read_text())
    assert written["type"] == "own-tests-report"
    assert (written["valid"], written["caught"], written["faults"]) == (True, 1, 3)
    assert written["audience"] == "student"
    assert written["details"] == []
    jsonschema.validate(written, schema.json_schema())


def test_what_is_written_has_a_schema(course, tmp_path):
    report = tmp_path / "report.json"
    (tmp_path / "test_none.py").write_text("def test_wrong():\n    assert False\n")
    words = ["scale", str(tmp_path / "test_none.py"), "--course", str(course)]
    _, code = typed(*words, "--output", str(report), "--show", "instructor")
    assert code == 0
    written = json.loads(report.read_text())
    assert written["rejections"][0]["answers"]
    printed = json.loads(CliRunner().invoke(grade, ["schema", "test-my-tests"]).output)
    assert printed == schema.json_schema(), (
        "after a change of the model: python -m grader.owntests.schema"
    )
    check = jsonschema.Draft202012Validator(printed)
    check.check_schema(printed)
    check.validate(written)
    for spoilt in ({"schema_version": 2}, {"type": "report"}, {"caught": "all"}):
        assert not check.is_valid(written | spoilt)
    del written["faults"]
    assert not check.is_valid(written)


def test_isolated_tests_do_not_see_what_files_there_are(course, tmp_path):
    try:
        bubblewrap.find()
    except SandboxMissing as error:
        pytest.skip(str(error))
    report, tests = tmp_path / "report.json", tmp_path / "test_zero.py"
    secret = course / "solutions" / "scale" / "faults.toml"
    looks = f"import os\n\ndef test_look():\n    assert not os.path.exists({str(secret)!r})\n"
    tests.write_text(ZERO + looks)
    words = ["scale", str(tests), "--course", str(course), "--output", str(report)]
    output, code = typed(*words, "--isolate")
    assert code == 0, output
    written = json.loads(report.read_text())
    assert (written["valid"], written["caught"]) == (True, 1)
    assert bubblewrap.FILES in written["sandbox"]["enforced"]


def test_where_isolation_cannot_be_had_nothing_is_measured(course, tmp_path, monkeypatch, capsys):
    start_with(
        "from grader.workers import bubblewrap; bubblewrap.SEARCH = '/nonexistent'", monkeypatch
    )
    tests = tmp_path / "test_zero.py"
    tests.write_text(ZERO)
    words = ["test-my-tests", "scale", str(tests), "--course", str(course)]
    assert run([*words, "--isolate"]) == 3
    assert "Install the package bubblewrap" in capsys.readouterr().err


def test_an_instructor_reads_which_faults_and_which_right_answers(course, tmp_path):
    tests = tmp_path / "test_mine.py"
    tests.write_text(ZERO)
    output, code = typed("scale", str(tests), "--course", str(course), "--show", "instructor")
    assert code == 0
    assert "- doubled: Twice is enough." in output
    tests.write_text(ZERO.replace("== 1", "== 2, '::error::\\x1b[2J'"))
    output, code = typed("scale", str(tests), "--course", str(course), "--show", "instructor")
    assert code == 0
    assert "valid     no" in output
    assert "- test_zero, line 6: 2 of 2" in output
    assert "(rejected: the reference, sum.py)" in output
    assert "\x1b" not in output
    assert not any(line.lstrip().startswith("::") for line in output.splitlines())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["scale", "missing.py"], "There is no file"),
        (["scael", "test_mine.py"], "scale"),
        (["scale", "link.py"], "symbolic link"),
        (["scale", "notes.txt"], "Hand in a .py file"),
        (["scale", "empty.py"], "empty"),
    ],
)
def test_wrong_usage_is_said_with_code_2(course, tmp_path, monkeypatch, capsys, words, said):
    monkeypatch.chdir(tmp_path)
    for name, text in (("test_mine.py", ZERO), ("notes.txt", "x"), ("empty.py", "")):
        (tmp_path / name).write_text(text)
    (tmp_path / "link.py").symlink_to(tmp_path / "test_mine.py")
    assert run(["test-my-tests", *words, "--course", str(course)]) == 2
    assert said in capsys.readouterr().err


def test_a_course_without_its_private_side_cannot_measure(tmp_path, capsys):
    course = make_course(tmp_path / "course", solutions_scale_scale_py="")
    tests = tmp_path / "test_mine.py"
    tests.write_text(ZERO)
    assert run(["test-my-tests", "scale", str(tests), "--course", str(course)]) == 2
    assert "reference" in capsys.readouterr().err


@pytest.mark.parametrize("points", ["0", "-1", "'many'"])
def test_points_have_to_be_a_positive_number(tmp_path, capsys, points):
    course = make_course(
        tmp_path / "course",
        assignments_scale_assignment_toml='title = "S"\n[exports.scale]\narguments = ["x"]\n'
        f"[tests]\npoints = {points}\n",
    )
    assert run(["test-my-tests", "scale", "test_mine.py", "--course", str(course)]) == 2
    assert "assignment.toml, line 5" in capsys.readouterr().err
