"""The README: what it tells people to type exists, and what it shows is what is printed."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import click
import pytest

from grader.cli.main import grade

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
BLOCK = re.compile(r"^( *)```(\w*)\n(.*?)^\1```$", re.DOTALL | re.MULTILINE)


def blocks(language: str, text: str = README) -> list[str]:
    return [body for _, kind, body in BLOCK.findall(text) if kind == language]


def commands(text: str = README) -> list[list[str]]:
    """Every command of the shell blocks, as words; those that && joins, one by one."""
    lines = [line.strip() for block in blocks("sh", text) for line in block.splitlines()]
    return [shlex.split(part) for line in lines for part in line.split(" && ")]


def of_program(name: str) -> list[list[str]]:
    """The arguments of each command of the README that runs ``name``."""
    return [rest for program, *rest in commands() if program.rpartition("/")[2] == name]


def setup_commands() -> list[str]:
    """The lines of the first block below "Set up"."""
    (section,) = re.findall(r"^## Set up\n(.*?)^## ", README, re.DOTALL | re.MULTILINE)
    return blocks("sh", section)[0].splitlines()


def test_two_commands_set_up():
    first, second = (
        [shlex.split(part) for part in line.split(" && ")] for line in setup_commands()
    )
    install = [".venv/bin/pip", "install", "-c", "constraints.txt", "-e"]
    assert first[:2] == [["python3", "-m", "venv", ".venv"], [*install, "."]]
    assert first[2][:2] == [".venv/bin/grade", "run"]
    assert second == [
        [*install, ".[test]"],
        [".venv/bin/pytest", "-n", "auto", "--dist", "loadfile"],
    ]


def test_every_block_is_a_command_or_something_to_read():
    assert {kind for _, kind, _ in BLOCK.findall(README)} == {"sh", "text"}
    known = {"python3", "pip", "pytest", "grade"}
    assert {words[0].rpartition("/")[2] for words in commands()} == known


@pytest.mark.parametrize("words", of_program("grade"), ids=shlex.join)
def test_commands_of_the_grader_are_understood(words):
    with click.Context(grade, info_name="grade") as context:
        name, command, rest = grade.resolve_command(context, words)
        assert command is not None
        # Raises for an option that does not exist or a value that it does not take.
        command.make_context(name, rest, parent=context)


@pytest.mark.parametrize(
    "words", [*of_program("grade"), *of_program("pytest"), *of_program("pip")], ids=shlex.join
)
def test_files_of_commands_exist(words):
    made = {"report.json"}
    paths = [word for word in words if re.search(r"/|\.\w+$", word) and word not in made]
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_links_lead_somewhere():
    links = re.findall(r"\]\(([^)#:]+)\)", README)
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []


def test_shown_report_is_what_is_printed():
    (excerpt,) = blocks("text")
    words = shlex.split(setup_commands()[0].split(" && ")[-1])[1:]
    done = subprocess.run(
        [sys.executable, "-m", "grader.cli", *words],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        env=os.environ | {"PYTHONPATH": str(ROOT), "COLUMNS": "80"},
    )
    assert done.returncode == 0, done.stderr
    printed = iter(done.stdout.splitlines())
    # Parts are left out, but what is shown is there, word for word and in this order.
    missing = [line for line in excerpt.splitlines() if line and line not in printed]
    assert missing == [], done.stdout


def test_constraints_pin_every_package_and_name_no_server():
    lines = (ROOT / "constraints.txt").read_text("utf-8").splitlines()
    pins = [line for line in lines if not line.startswith("#")]
    assert [pin for pin in pins if not re.fullmatch(r"[\w.-]+==[\w.]+", pin)] == []
