"""The authors' page: what it names exists, and nothing that exists is left out."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import pytest

import grader.suite
from grader.cli.main import grade
from grader.course.families import FAMILIES
from grader.course.model import Limits
from grader.session.checks.draw import Draw

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "authors.md").read_text("utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE)


def listed(start: str, end: str) -> set[str]:
    """The words in backquotes between two texts of the page."""
    passage = PAGE[PAGE.index(start) + len(start) :]
    return set(re.findall(r"`([\w-]+)`", passage[: passage.index(end)]))


def test_lists_are_complete():
    assert listed("what kind of property it is: ", "\n- **points**") == set(FAMILIES)
    assert listed("changes\nwhat a submission may use: ", "\n\n") == set(Limits.__struct_fields__)
    drawn = {name for name in vars(Draw) if not name.startswith("_")}
    assert set(re.findall(r"`draw\.(\w+)\(", PAGE)) == drawn


def test_every_assertion_that_is_named_exists():
    named = set(re.findall(r"\b(assert_\w+|CheckFailure)\b", PAGE))
    assert named
    assert named <= set(grader.suite.__all__)


def test_example_of_a_check_does_what_it_says(tmp_path):
    """A reference without its mask fails it."""
    for folder in ("assignments", "solutions"):
        shutil.copytree(ROOT / folder / "sliding_window", tmp_path / folder / "sliding_window")
    (tmp_path / "assignments" / "course.toml").write_text('title = "A copy"\n', "utf-8")
    hidden = tmp_path / "tests" / "hidden"
    hidden.mkdir(parents=True)
    example, *_ = blocks("python")
    (hidden / "test_sliding_window.py").write_text(example, "utf-8")
    reference = tmp_path / "solutions" / "sliding_window" / "sliding_window.py"
    right = reference.read_text("utf-8")
    leaks = right.replace("scores = scores.masked_fill(~allowed, -math.inf)", "")
    assert leaks != right
    leaky = tmp_path / "leaky.py"
    leaky.write_text(leaks, "utf-8")
    suite = ["-q", "-pno:cacheprovider", "tests/hidden/test_sliding_window.py"]
    for options, ended in ([], "3 passed"), (["--submission", "leaky.py"], "3 failed"):
        command = [sys.executable, "-m", "pytest", *suite, *options]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert ended in done.stdout


def test_examples_are_python():
    for block in blocks("python"):
        compile(block, "authors.md", "exec")


@pytest.mark.parametrize("command", [line for block in blocks("sh") for line in block.splitlines()])
def test_commands_are_understood(command):
    program, *words = shlex.split(command)
    assert program in ("grade", "pytest")
    if program == "grade":
        with click.Context(grade, info_name="grade") as context:
            name, found, rest = grade.resolve_command(context, words)
            assert found is not None
            found.make_context(name, rest, parent=context)


def test_examples_of_toml_are_toml():
    for block in blocks("toml"):
        tomllib.loads(block)


def test_files_that_are_named_exist():
    paths = set(re.findall(r"`((?:assignments|solutions|tests)/[\w/.]+)`", PAGE))
    paths = {path for path in paths if not re.search(r"\bID\b|_ID\b|support_", path)}
    assert paths
    assert [path for path in paths if not (ROOT / path).exists()] == []
