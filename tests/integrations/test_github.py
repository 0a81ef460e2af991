"""The action and the workflows, run step by step as a runner of GitHub's would.

In the place of GitHub itself are a Python for ``setup-python``, folders that are already checked
out, and repositories on disk for ``gh``; the reporter is the real one, where there is Node for it.
"""

from __future__ import annotations

import csv
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from grader.jobs.client import GradingProcess
from grader.jobs.protocol import Job
from grader.report import formats

from .conftest import CANARY, RIGHT, WRONG, contents
from .runner import WITHOUT_DOWNLOADS, Runner, StepFailed, installed_python, load

ROOT = Path(__file__).parents[2]
REPORTER = os.environ.get("AUTOGRADING_REPORTER", "")

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the workflows run on Linux")
needs_reporter = pytest.mark.skipif(
    not REPORTER or shutil.which("node") is None,
    reason="needs Node, and AUTOGRADING_REPORTER=dist/main.js of the branch releases/v1 of "
    "classroom-resources/autograding-grading-reporter",
)


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """What of this project is needed to install it."""
    root = tmp_path_factory.mktemp("project")
    for name in ("pyproject.toml", "README.md", "LICENSE", "constraints.txt", "action.yml"):
        shutil.copy(ROOT / name, root)
    leave_out = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "grader", root / "grader", ignore=leave_out)
    return root


@pytest.fixture(scope="module")
def machine(tmp_path_factory):
    """A runner's folder for what is temporary; ``python`` is what setup-python finds."""
    temp = tmp_path_factory.mktemp("runner")
    python = installed_python(temp / "fresh")
    subprocess.run([python, "-m", "venv", temp / "toolcache", "--without-pip"], check=True)
    return temp


def job(workspace, machine, values, **environment):
    """A job on that machine, after setup-python."""
    path = os.pathsep.join([str(machine / "toolcache/bin"), os.environ["PATH"]])
    return Runner(workspace, machine, values, PATH=path, **WITHOUT_DOWNLOADS, **environment)


def nothing(inputs, environment):
    """What an action does whose work is done already."""
    return {}


@pytest.fixture(scope="module")
def action(project, course, machine):
    """Runs the action, with inputs, in the course's folder."""
    definition = load(project / "action.yml")

    def setup_python(inputs, environment):
        assert inputs["update-environment"] == "False"
        return {"python-path": str(machine / "fresh/python")}

    def run(**inputs):
        given = {name: one["default"] for name, one in definition["inputs"].items()}
        given |= {"sandbox": "auto", **inputs}
        values = {f"inputs.{name}": value for name, value in given.items()}
        done = job(course, machine, values, GITHUB_ACTION_PATH=str(project))
        done.failed = False
        try:
            done.run(definition["runs"]["steps"], {"actions/setup-python": setup_python})
        except StepFailed:
            done.failed = True
        done.given = {name: done.value(one["value"]) for name, one in definition["outputs"].items()}
        return done

    return run


def test_the_action_tells_the_points_and_fails_under_the_limit(action, course, tmp_path):
    submission = tmp_path / "name of a student's; $(touch pwned)" / "scale.py"
    submission.parent.mkdir()
    submission.write_text("def scale(x):\n    return x.detach() * 3 + 1\n")
    done = action(assignment="scale", submission=str(submission), **{"fail-under": "70"})
    assert done.failed
    assert (done.given["earned"], done.given["possible"]) == ("4", "6"), done.log
    assert done.summary.startswith("# Scale and shift: 4 of 6 points")
    assert "No gradient reaches x" in done.summary
    assert not (course / "pwned").exists()
    assert CANARY not in done.log + done.summary
    assert done.given["result"]


def test_the_action_says_what_is_wrong_with_its_inputs(action):
    done = action(assignment="scal")
    assert done.failed
    assert "found no assignment 'scal'" in done.log
    assert set(done.given.values()) == {""}


def reported(environment):
    """What the real reporter prints."""
    return subprocess.run(
        ["node", REPORTER],
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        encoding="utf-8",
    )


def test_a_students_push_is_graded_and_reported(released, machine, tmp_path):
    """The workflow that ``grade release`` writes."""
    for name, data in contents(released["student"]).items():
        if "!" not in name:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).write_bytes(data)
    (tmp_path / "assignments/scale/scale.py").write_text(RIGHT)
    shown = []

    def reporter(inputs, environment):
        assert inputs["runners"] == "scale"
        assert environment["SCALE_RESULTS"]
        if REPORTER and shutil.which("node"):
            shown.append(reported(environment | {"INPUT_RUNNERS": inputs["runners"]}))
        return {}

    workflow = load(tmp_path / ".github/workflows/classroom.yml")
    done = job(tmp_path, machine, {})
    done.run(
        workflow["jobs"]["run-autograding-tests"]["steps"],
        {
            "actions/checkout": nothing,
            "actions/setup-python": nothing,
            "classroom-resources/autograding-grading-reporter": reporter,
        },
    )
    assert done.summary.startswith("# Scale and shift: 1 of 1 point")
    assert done.outputs["grade"]["earned"] == "1"
    for one in shown:
        assert one.returncode == 0, one.stderr
        assert "::Points 1/1\n" in one.stdout


SUBMISSIONS = {
    "full": (RIGHT, 6),
    "partial": ("def scale(x):\n    return x.detach() * 3 + 1\n", 4),
    "zero": ("def scale(x):\n    return x.detach() - 7\n", 0),
    "crashed": ("import os\n\ndef scale(x):\n    os._exit(0)\n", 0),
    "timed-out": ("def scale(x):\n    while True:\n        pass\n", 0),
}


@pytest.fixture(scope="module")
def results(course, tmp_path_factory):
    """The step output of each kind of submission."""
    hasty = shutil.copytree(course, tmp_path_factory.mktemp("hasty") / "course")
    with (hasty / "assignments/scale/assignment.toml").open("a") as file:
        file.write("[limits]\ncheck_seconds = 1\n")
    found = {}
    with GradingProcess() as process:
        for kind, (text, _) in SUBMISSIONS.items():
            path = hasty / kind / "scale.py"
            path.parent.mkdir()
            path.write_text(text)
            one = Job(submission=str(path), course=str(hasty), assignment="scale", seed=1)
            lines = formats.find("github")(process.grade(one)).decode().splitlines()
            found[kind] = dict(line.split("=", 1) for line in lines)["result"]
    return found


@needs_reporter
@pytest.mark.parametrize("kind", SUBMISSIONS)
def test_the_reporter_shows_the_points(results, kind):
    _, earned = SUBMISSIONS[kind]
    done = reported({"INPUT_RUNNERS": "scale", "SCALE_RESULTS": results[kind]})
    assert done.returncode == (0 if earned == 6 else 1), done.stderr
    assert f"::Points {earned}/6\n" in done.stdout
    assert re.search(rf"│ scale +│ {earned} +│ 6 +│", done.stdout)
    assert CANARY not in done.stdout


GH = """#!/usr/bin/env bash
# Repositories of the folder $REPOSITORIES in the place of an organization's.
set -eu
[[ $GH_TOKEN == secret ]]
case "$1 $2" in
    "repo list") ls "$REPOSITORIES" ;;
    "repo clone") git clone "${@:6}" "$REPOSITORIES/${3#*/}" "$4" ;;
    *) exit 2 ;;
esac
"""


def commit(repository, text, when):
    """A commit of that time, by which a deadline goes."""
    (repository / "scale.py").write_text(text)
    git = ["git", "-C", repository, "-c", "user.name=x", "-c", "user.email=x@example.org"]
    dates = {"GIT_AUTHOR_DATE": when, "GIT_COMMITTER_DATE": when}
    subprocess.run([*git, "add", "--all"], check=True)
    subprocess.run([*git, "commit", "-qm", "x"], env=os.environ | dates, check=True)


def test_a_class_is_cloned_and_graded(project, course, machine, tmp_path):
    workspace = shutil.copytree(project, tmp_path / "workspace")
    shutil.copytree(course, workspace, dirs_exist_ok=True)
    (machine / "toolcache/bin/gh").write_text(GH)
    (machine / "toolcache/bin/gh").chmod(0o755)
    before, after = "2026-09-30T12:00:00+00:00", "2026-10-02T12:00:00+00:00"
    pushed = {
        "scale-ada": [(RIGHT, before), (WRONG, after)],
        "scale-ben": [],
        "scale-eve": [(RIGHT, after)],
        "scale-liv": [(WRONG, before)],
        "notes": [(RIGHT, before)],
    }
    for name, commits in pushed.items():
        repository = tmp_path / "repositories" / name
        subprocess.run(["git", "init", "-q", repository], check=True)
        for text, when in commits:
            commit(repository, text, when)
    kept = []
    inputs = {"organization": "school", "prefix": "scale-", "assignment": "scale"}
    inputs["deadline"] = "2026-10-01T23:59:00+02:00"
    values = {f"inputs.{name}": value for name, value in inputs.items()}
    values["secrets.SUBMISSIONS_TOKEN"] = "secret"
    done = job(workspace, machine, values, REPOSITORIES=str(tmp_path / "repositories"))
    done.run(
        load(ROOT / ".github/workflows/grade-class.yml")["jobs"]["grade"]["steps"],
        {
            "actions/checkout": nothing,
            "actions/setup-python": nothing,
            "actions/upload-artifact": lambda inputs, environment: kept.append(inputs["path"]),
        },
    )
    (folder,) = kept
    with (workspace / folder / "grades.csv").open(encoding="utf-8", newline="") as file:
        scores = {row["student"]: row["scale"] for row in csv.DictReader(file)}
    assert scores == {"scale-ada": "6", "scale-ben": "", "scale-eve": "", "scale-liv": "0"}
    assert "scale-ben: nothing was pushed in time" in done.log
    assert "scale-eve: nothing was pushed in time" in done.log
