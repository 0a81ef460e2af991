"""The pages in docs/ and the others beside the README: true as far as a program can tell."""

from __future__ import annotations

import re
import shlex
import tomllib
from pathlib import Path

import click
import pytest

from grader.cli.main import grade

ROOT = Path(__file__).parents[1]
PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
PACKAGE = [path for path in sorted((ROOT / "grader").iterdir()) if (path / "__init__.py").is_file()]


def commands() -> list[tuple[str, str]]:
    """Each line of a page's shell blocks that runs ``grade``, with the page's name."""
    return [
        (page.name, line)
        for page in PAGES
        for kind, body in BLOCK.findall(page.read_text("utf-8"))
        if kind == "sh"
        for line in body.splitlines()
        if line.startswith("grade ")
    ]


@pytest.mark.parametrize(("page", "line"), commands())
def test_commands_are_understood(page, line, tmp_path, monkeypatch):
    words = shlex.split(line, comments=True)[1:]
    monkeypatch.chdir(tmp_path)
    with click.Context(grade, info_name="grade") as context:
        _, command, rest = grade.resolve_command(context, words)
        assert command is not None
        while isinstance(command, click.Group) and rest:
            _, command, rest = command.resolve_command(context, rest)
        for option in (word.partition("=")[0] for word in rest if word.startswith("--")):
            known = {given for parameter in command.params for given in parameter.opts}
            assert option in known, f"{page}: {line}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text("utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def test_the_architecture_is_that_of_the_contracts():
    page = (ROOT / "docs" / "architecture.md").read_text("utf-8")
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    contract = settings["tool"]["importlinter"]["contracts"][0]
    assert "```text\n" + "\n".join(contract["layers"]) + "\n```" in page
    for path in PACKAGE:
        assert f"| `{path.name}/` |" in page
