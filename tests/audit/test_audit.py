"""``grade audit`` on a small course: what is as it should be, and what falls short."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from grader.cli.main import grade
from grader.course.loading import load_course
from grader.course.model import CourseError
from grader.diagnosis.catalogue import Catalogue

from ..toy import FILES, make_course

FAULTS = FILES["solutions/scale/faults.toml"]
HIDDEN = FILES["tests/hidden/test_scale.py"]


def audit(root: Path, *options: str) -> Result:
    return CliRunner().invoke(grade, ["audit", "--course", str(root), *options])


def test_a_good_suite_has_no_shortcomings(tmp_path: Path) -> None:
    result = audit(make_course(tmp_path / "course"), "--output", str(tmp_path / "audit.json"))

    assert result.exit_code == 0, result.output
    assert "nothing falls short" in result.output
    (found,) = json.loads((tmp_path / "audit.json").read_bytes())
    assert [fault["slug"] for fault in found["faults"]] == ["doubled", "not-shifted", "detached"]
    assert found["faults"][0]["caught_by"] == ["example", "values", "gradient"]
    # doubled and detached edit the same text, so they cannot be made together.
    assert found["pairs"] == 2
    assert found["mutants"] > 10
    assert found["survivors"] == []


def test_a_fault_that_its_family_does_not_catch_falls_short(tmp_path: Path) -> None:
    blind = HIDDEN.replace("reference.scale(x), ", "student.scale(x), ", 1)
    public = FILES["assignments/scale/test_public.py"].replace("[4.0, 7.0]", "[4.0, 7.0]")
    public = public.replace(
        "student.scale(X), torch", "student.scale(X) * 0 + 4, 0 * X + 4 + 0 * torch"
    )
    result = audit(
        make_course(
            tmp_path, tests_hidden_test_scale_py=blind, assignments_scale_test_public_py=public
        )
    )

    assert result.exit_code == 1
    assert "fault not-shifted is not caught by the family values" in result.output
    assert "a mutant survives" in result.output


def test_a_right_answer_that_loses_points_falls_short(tmp_path: Path) -> None:
    course = make_course(tmp_path)
    wrong = course / "solutions/scale/accepted/off.py"
    wrong.write_text("def scale(x):\n    return x * 3 + 1.01\n")

    result = audit(course)

    assert result.exit_code == 1
    assert "off.py is right but loses the check values" in result.output


def test_a_stub_that_earns_points_falls_short(tmp_path: Path) -> None:
    generous = (
        HIDDEN + '\n@check("policy", points=1, title="Free")\ndef test_free(student):\n    pass\n'
    )

    result = audit(make_course(tmp_path, tests_hidden_test_scale_py=generous), "--seeds", "1")

    assert result.exit_code == 1
    assert "the untouched stub earns 1 point" in result.output
    assert "nothing fails the check free" in result.output
    assert "What to do: add the fault that it is there for, or drop the check." in result.output


def test_two_checks_of_one_name_are_refused_as_in_grading(tmp_path: Path) -> None:
    twice = HIDDEN.replace("def test_gradient(", "def test_example(")

    result = audit(make_course(tmp_path, tests_hidden_test_scale_py=twice), "--seeds", "1")

    assert result.exit_code == 2
    assert "two checks have the id example: 'The example is right' and" in result.output


def test_two_faults_that_undo_each_other_fall_short_unless_declared(tmp_path: Path) -> None:
    undoing = FAULTS + (
        '\n[shifted-down]\nedit = [["def scale(x):", "def scale(x, one=0):\\n    x = x + 1 / 3"]]\n'
        'belief = "b"\nmessage = "m"\nhint = "h"\nfails = ["values"]\n'
    )
    result = audit(make_course(tmp_path / "a", solutions_scale_faults_toml=undoing))
    assert result.exit_code == 1
    assert "not-shifted and shifted-down: together they are not caught" in result.output
    assert re.search(r"pairs +(\d) of \1 tried, 1 of which fall short", result.output)

    declared = undoing + 'cancels = ["not-shifted"]\n'
    result = audit(make_course(tmp_path / "b", solutions_scale_faults_toml=declared))
    assert "not-shifted and shifted-down" not in result.output


def test_a_pair_that_earns_more_says_than_which_fault_and_by_which_check(tmp_path: Path) -> None:
    """Each shift alone fails the values, and both together the gradient alone."""
    half = (
        '\n[shifted-down]\nedit = [["def scale(x):", "def scale(x):\\n    x = x - 1 / 3"]]\n'
        'belief = "b"\nmessage = "m"\nhint = "h"\nfails = ["values"]\n'
        '\n[shifted-up]\nedit = [["y + 1", "(y + 2) + 0 * x.detach() - (y - y.detach()) / 2"]]\n'
        'belief = "b"\nmessage = "m"\nhint = "h"\nfails = ["values", "gradient"]\n'
    )
    result = audit(make_course(tmp_path, solutions_scale_faults_toml=half), "--pairs", "9")

    (line,) = [one for one in result.output.splitlines() if "shifted-down and shifted-up" in one]
    assert "together they lose 2 points, shifted-up alone 6; what passes again:" in line
    assert line.endswith("example, values")


def test_equivalent_mutants_need_a_reason_and_must_exist(tmp_path: Path) -> None:
    reference = "def scale(x):\n    unused = 5 > 4\n    y = x * 3\n    return y + 1\n"
    course = make_course(tmp_path, solutions_scale_scale_py=reference)
    result = audit(course)
    assert result.exit_code == 1
    survivors = re.findall(r"a mutant survives: '(.*)' to '(.*)' \(", result.output)
    assert ("unused = 5 > 4", "unused = 5 < 4") in survivors

    entries = [
        f'[[mutant]]\nbefore = "{before}"\nafter = "{after}"\nreason = "Nothing reads it."\n'
        for before, after in survivors
    ]
    (course / "solutions/scale/equivalent.toml").write_text("\n".join(entries))
    result = audit(course)
    assert result.exit_code == 0, result.output

    entries.append('[[mutant]]\nbefore = "y + 1"\nafter = "y + 9"\nreason = "Wishful."\n')
    (course / "solutions/scale/equivalent.toml").write_text("\n".join(entries))
    result = audit(course)
    assert result.exit_code == 1
    assert "recorded as an equivalent mutant, but it is none" in result.output


def test_a_fault_that_never_ends_is_caught(tmp_path: Path) -> None:
    faults = (
        '[endless]\nedit = [["y = x * 3", "y = x * 3\\n    while True: pass"]]\n'
        'belief = "b"\nmessage = "m"\nhint = "h"\nfails = ["values", "gradient"]\n'
    )

    result = audit(make_course(tmp_path, solutions_scale_faults_toml=faults), "--seeds", "1")

    assert result.exit_code == 0, result.output


SLOW = """
import time

def scale(x):
    end = time.process_time() + 0.6
    while time.process_time() < end:
        pass
    return 3 * x + 1
"""


@pytest.mark.parametrize(("seconds", "short"), [(1.0, True), (10.0, False)])
def test_a_right_answer_may_take_what_the_assignment_lets_it(
    tmp_path: Path, seconds: float, short: bool
) -> None:
    described = FILES["assignments/scale/assignment.toml"]
    course = make_course(
        tmp_path,
        assignments_scale_assignment_toml=f"{described}[limits]\ncheck_seconds = {seconds}\n",
        solutions_scale_accepted_sum_py=SLOW,
    )

    result = audit(course, "--seeds", "1")

    assert ("sum.py is right but loses" in result.output) == short, result.output
    assert ("did not finish in time" in result.output) == short


def test_the_page_holds_the_kill_matrix_and_escapes_it(tmp_path: Path) -> None:
    faults = FAULTS.replace("[doubled]", '["<script>alert(1)</script>"]')
    course = make_course(tmp_path / "course", solutions_scale_faults_toml=faults)

    result = audit(course, "--html", str(tmp_path / "audit.html"))

    page = (tmp_path / "audit.html").read_text("utf-8")
    assert result.exit_code == 0, result.output
    assert "<script>" not in page
    assert page.count('class="caught"') >= 6
    assert "http" not in page


@pytest.mark.parametrize(
    ("old", "new", "complaint"),
    [
        ('"x * 3", "x * 2"', '"x * 4", "x * 2"', "fault doubled: the text 'x * 4' does not occur"),
        ('"x * 3", "x * 2"', '"x", "z"', "fault doubled: the text 'x' occurs 2 times"),
        (
            'fails = ["gradient"]',
            'fails = ["gradiant"]',
            "found the family 'gradiant'; expected gradient",
        ),
        (
            'message = "The one is missing."',
            'message = " "',
            "fault not-shifted: message is missing or empty",
        ),
        ('hint = "What is scale(0)?"\n', "", "fault not-shifted: hint is missing or empty"),
        ('belief = "Twice', 'believe = "Twice', "unknown key"),
        ('edit = [["y + 1", "y"]]', 'edit = [["y + 1"]]', "an edit is a pair"),
        (
            'edit = [["y + 1", "y"]]',
            'edit = [["y + 1", "y"], ["+ 1", "+ 2"]]',
            "two of its edits overlap",
        ),
        ("[detached]", 'inherits = ["nothing"]\n[detached]', "line"),
    ],
)
def test_a_broken_catalogue_is_named_by_file_and_fault(
    tmp_path: Path, old: str, new: str, complaint: str
) -> None:
    broken = FAULTS.replace(old, new)
    assert broken != FAULTS

    course = make_course(tmp_path, solutions_scale_faults_toml=broken)
    with pytest.raises(CourseError) as raised:
        Catalogue(load_course(course).assignments["scale"])

    assert "faults.toml" in str(raised.value) or "nothing.toml" in str(raised.value)
    assert complaint in str(raised.value)


def test_a_broken_catalogue_is_wrong_usage(tmp_path: Path) -> None:
    result = audit(make_course(tmp_path, solutions_scale_faults_toml="[doubled]\nedit = 3\n"))

    assert result.exit_code == 2
    assert "faults.toml, line 1" in result.output
    assert "Traceback" not in result.output


@pytest.mark.parametrize(
    ("file", "old", "new", "complaint"),
    [
        ("assignments/scale/scale.py", "def scale(", "def scaled(", "scale.py defines no scale"),
        ("solutions/scale/scale.py", "def scale(", "def scaled(", "scale.py defines no scale"),
        ("solutions/scale/scale.py", "def scale(", "def scale(:", "cannot be imported"),
        ("tests/hidden/test_scale.py", "student.scale(", "student.scales(", "did you mean scale?"),
        ("tests/hidden/test_scale.py", "reference.scale(", "reference.scales(", "a suite calls"),
    ],
)
def test_half_a_change_is_named_by_its_file(
    tmp_path: Path, file: str, old: str, new: str, complaint: str
) -> None:
    course = make_course(tmp_path)
    text = (course / file).read_text("utf-8")
    assert old in text
    (course / file).write_text(text.replace(old, new), "utf-8")

    result = audit(course)

    assert result.exit_code == 2
    assert complaint in result.output
    assert "Traceback" not in result.output


def test_shared_faults_are_inherited_changed_and_left_out(tmp_path: Path) -> None:
    course = make_course(
        tmp_path,
        solutions_scale_faults_toml=(
            'inherits = ["core"]\n[not-shifted]\nmessage = "Changed."\n[doubled]\napplies = false\n'
        ),
    )
    (course / "solutions/shared").mkdir()
    (course / "solutions/shared/core.toml").write_text(FAULTS)

    faults = list(Catalogue(load_course(course).assignments["scale"]))

    assert [fault.slug for fault in faults] == ["not-shifted", "detached"]
    assert faults[0].message == "Changed."
    assert faults[0].hint == "What is scale(0)?"


def test_an_unknown_assignment_is_named(tmp_path: Path) -> None:
    result = audit(make_course(tmp_path), "scail")

    assert result.exit_code == 2
    assert "scale" in result.output
