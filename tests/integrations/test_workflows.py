"""The workflows and the action, against the published schemas and a linter of workflows."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import unpack

ROOT = Path(__file__).parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))


def validate(schema: str, *files: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}", *files],
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stdout


def test_workflows_are_as_github_reads_them(released):
    validate(
        "github-workflows", *WORKFLOWS, released["student"] / ".github/workflows/classroom.yml"
    )


def test_the_action_is_as_github_reads_it():
    validate("github-actions", ROOT / "action.yml")


def test_the_linter_finds_nothing(released):
    """What GitHub would refuse, what a stranger could make use of, and what bash makes of it."""
    files = [*WORKFLOWS, released["student"] / ".github/workflows/classroom.yml"]
    done = subprocess.run(
        [
            *(Path(sys.executable).with_name("jactionlint"), "--no-online", "--strict-exit"),
            # By their tags, as GitHub's own examples do: whoever releases updates them.
            *("--ignore", "unpinned-uses"),
            # Each push is graded: one after the deadline must not end what came in time.
            *("--ignore", "concurrency-limits"),
            *files,
            ROOT / "action.yml",
        ],
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(shutil.which("shellcheck") is None, reason="needs apt install shellcheck")
def test_the_linter_of_scripts_finds_nothing(released, tmp_path):
    scripts = [ROOT / ".ci/run"]
    for name in ("gradescope.zip", "prairielearn.zip"):
        folder = unpack(released[name], tmp_path / name)
        scripts += [path for path in folder.rglob("*") if path.suffix == ".sh"]
        scripts += folder.glob("run_autograder")
    assert len(scripts) == 4
    done = subprocess.run(["shellcheck", *scripts], capture_output=True, encoding="utf-8")
    assert done.returncode == 0, done.stdout


def test_a_students_workflow_tells_the_reporter_what_the_grader_writes(released):
    text = (released["student"] / ".github/workflows/classroom.yml").read_text()
    assert "SCALE_RESULTS: ${{ steps.grade.outputs.result_scale }}" in text
    assert "runners: scale\n" in text
    assert "if: github.actor != 'github-classroom[bot]'" in text


def test_nothing_that_others_write_is_run_as_part_of_a_script():
    """Expressions in ``run:`` are pasted into the script before bash sees it."""
    for file in [*WORKFLOWS, ROOT / "action.yml"]:
        lines = file.read_text().splitlines()
        inside = None
        for line in lines:
            indent = len(line) - len(line.lstrip())
            if inside is not None and line.strip() and indent <= inside:
                inside = None
            if inside is not None or "run:" in line:
                assert "${{" not in line, f"{file.name}: {line}"
            if line.lstrip("- ").startswith("run: |"):
                inside = indent
