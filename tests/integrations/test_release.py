"""``grade release DIR``: what students get, and never get."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from grader.course.loading import load_course
from grader.integrations.sides import private_side, public_side

from ..toy import make_course
from .conftest import CANARY, RIGHT, contents, release

ROOT = Path(__file__).parents[2]


def test_a_student_repository_holds_what_a_student_needs(released):
    assert {
        "README.md",
        "requirements.txt",
        ".gitignore",
        ".github/workflows/classroom.yml",
        ".github/classroom/autograding.json",
        "assignments/course.toml",
        "assignments/scale/README.md",
        "assignments/scale/assignment.toml",
        "assignments/scale/scale.py",
        "assignments/scale/test_public.py",
    } <= contents(released["student"]).keys()


def test_nothing_of_the_private_side_is_released(released):
    found = contents(released["student"])
    assert [name for name, data in found.items() if CANARY.encode() in data] == []
    assert [name for name in found if "solutions" in name or "hidden" in name] == []


def test_nothing_of_the_real_private_side_is_released():
    """No check, fault, message or variant of any suite is in the public side, word for word."""
    course = load_course(ROOT)
    everything = list(course.assignments.values())
    public = b"\n".join(public_side(course, everything).values()).decode()
    secrets = set()
    for name, data in private_side(course, everything).items():
        text = data.decode()
        if name.endswith(".toml"):
            secrets |= set(re.findall(r'^(?:message|belief) = "(.{20,})"', text, re.MULTILINE))
        elif name.startswith("tests/"):
            secrets |= set(re.findall(r"^def (test_\w{12,})", text, re.MULTILINE))
    # Of one name there can be two checks, a public one and a hidden one.
    secrets -= set(re.findall(r"^def (test_\w+)", public, re.MULTILINE))
    assert len(secrets) > 500
    leaked = [secret for secret in secrets if re.search(rf"{re.escape(secret)}(?!\w)", public)]
    assert leaked == []


def test_the_canary_is_in_what_is_for_the_instructor(released):
    """Or the test above would prove nothing."""
    for name in ("gradescope.zip", "prairielearn.zip"):
        assert any(CANARY.encode() in data for data in contents(released[name]).values())


def commands(readme: str) -> list[str]:
    blocks = re.findall(r"^ *```sh\n(.*?)^ *```$", readme, re.DOTALL | re.MULTILINE)
    return [line.strip() for block in blocks for line in block.splitlines()]


@pytest.fixture
def repository(released, tmp_path):
    """A student's copy, in which the README's set-up has been done with what is installed here."""
    root = tmp_path / "repository"
    for name, data in contents(released["student"]).items():
        if "!" not in name:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_bytes(data)
    (wheel,) = (root / "vendor").glob("*.whl")
    assert (root / "requirements.txt").read_text().splitlines()[-1] == f"./vendor/{wheel.name}"
    subprocess.run(
        [
            *(sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-index"),
            *("--target", root / ".venv", wheel),
        ],
        check=True,
    )
    return root


def test_a_student_reaches_a_graded_report_by_the_readme_alone(repository):
    setup = ["python3 -m venv .venv", ".venv/bin/python -m pip install -r requirements.txt"]
    said = commands((repository / "README.md").read_text())
    assert said == [*setup, ".venv/bin/grade run scale"]
    (repository / "assignments/scale/scale.py").write_text(RIGHT)
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(repository / ".venv")}
    output, summary = repository / "output", repository / "summary"
    environment |= {"GITHUB_OUTPUT": str(output), "GITHUB_STEP_SUMMARY": str(summary)}
    done = subprocess.run(
        [repository / ".venv/bin/grade", "run", "scale", "--format", "github"],
        cwd=repository,
        env=environment,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    assert "Scale and shift: 1 of 1 point" in done.stdout
    assert "result_scale=" in output.read_text()
    assert summary.read_text().startswith("# Scale and shift: 1 of 1 point")


def test_points_for_the_older_action_are_those_of_the_public_checks(released):
    (test,) = json.loads((released["student"] / ".github/classroom/autograding.json").read_text())[
        "tests"
    ]
    assert (test["points"], test["comparison"]) == (1, "included")
    assert test["run"] == "grade run scale --fail-under 100"


def test_the_wheel_is_what_runs_here(released):
    (path,) = (released["student"] / "vendor").glob("*.whl")
    with zipfile.ZipFile(path) as archive:
        names = set(archive.namelist())
    modules = {str(p.relative_to(ROOT)) for p in (ROOT / "grader").rglob("*.py")}
    assert modules <= names
    assert {name.partition("/")[0].partition("-")[0] for name in names} == {
        "grader",
        "attention_grader",
    }
    assert not any("__pycache__" in name for name in names)


@pytest.fixture
def changed_course(tmp_path):
    root = make_course(tmp_path / "course")
    (root / "assignments/scale/README.md").write_text("# Scale\n")
    return root


def test_a_stub_that_is_filled_in_is_not_released(changed_course, tmp_path):
    (changed_course / "assignments/scale/scale.py").write_text(RIGHT)
    done = release(changed_course, tmp_path / "out")
    assert done.exit_code == 2
    assert "Grading the stubs" in done.stderr, "what takes a while is said"
    assert "assignments/scale: its stub is graded with 1 of 1 point;" in done.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("private", ["solutions/scale/scale.py", "tests/hidden/test_scale.py"])
def test_a_private_file_among_the_public_ones_is_found(changed_course, tmp_path, private):
    misplaced = changed_course / "assignments/scale/notes.py"
    misplaced.write_bytes((changed_course / private).read_bytes())
    done = release(changed_course, tmp_path / "out")
    assert done.exit_code == 2
    assert f"assignments/scale/notes.py: is the same as {private}" in done.stderr


def test_a_link_in_the_course_is_not_released(changed_course, tmp_path):
    link = changed_course / "assignments/scale/answer.py"
    link.symlink_to(changed_course / "solutions/scale/scale.py")
    done = release(changed_course, tmp_path / "out")
    assert done.exit_code == 2
    assert f"{link}: is a symbolic link" in done.stderr


def test_a_handout_is_needed(changed_course, tmp_path):
    (changed_course / "assignments/scale/README.md").unlink()
    done = release(changed_course, tmp_path / "out")
    assert done.exit_code == 2
    assert "README.md: students need this file" in done.stderr


def test_wrong_usage(course, tmp_path):
    assert "Missing DIR" in release(course).stderr
    done = release(course, tmp_path / "x", "--assignment", "scal")
    assert (done.exit_code, "expected scale" in done.stderr) == (2, True)
    done = release(course, "--gradescope", tmp_path / "missing" / "x.zip")
    assert (done.exit_code, "does not exist" in done.stderr) == (2, True)


def test_some_assignments_can_be_released_without_the_others():
    course = load_course(ROOT)
    some = [course.assignments[id] for id in ("gqa", "rope")]
    public = public_side(course, some)
    described = public["assignments/course.toml"].decode()
    assert 'order = ["gqa", "rope"]' in described
    assert {name.split("/")[1] for name in public} == {"course.toml", "gqa", "rope"}
    private = private_side(course, some)
    assert "solutions/gqa/gqa.py" in private
    assert "tests/hidden/support_layers.py" in private
    assert any(name.startswith("solutions/shared/") for name in private)
    assert not any("/mha" in name or "test_mha" in name for name in private)
