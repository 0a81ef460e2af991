"""The authors' page: what it names exists, and nothing that exists is left out."""

from __future__ import annotations

import re
import shlex
import shutil
import tomllib
from pathlib import Path

import click
import pytest

import grader.suite
from grader.cli.main import grade
from grader.course.families import FAMILIES
from grader.course.loading import load_course
from grader.course.model import Limits
from grader.session.cases import SourceBench, collect, reference_source, run_checks
from grader.session.draw import Draw

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
    assert listed("changes\nwhat a submission may take: ", "\n\n") == set(Limits.__struct_fields__)
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
    assignment = load_course(tmp_path).assignments["sliding_window"]
    cases = [case for case in collect(assignment) if case.check_id == "no_leak"]
    assert len(cases) == 3
    right = reference_source(assignment)
    leaks = right.replace("scores = scores.masked_fill(~allowed, -math.inf)", "")
    assert leaks != right
    passed = [
        run_checks(cases, SourceBench(assignment, source, seed=1))["no_leak"].passed
        for source in (right, leaks)
    ]
    assert passed == [True, False]


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
