"""Grading processes that start on another machine than this one, as far as they can tell."""

from __future__ import annotations

import subprocess

import pytest

from grader.session import client


def start_with(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have grading processes run ``program`` first."""
    popen = subprocess.Popen
    program += "\nfrom grader.session.root import main; main()"

    def start(command: list[str], **options: object) -> subprocess.Popen[bytes]:
        place = command.index("-m")
        assert command[place + 1] == "grader.session.root"
        return popen([*command[:place], "-c", program, *command[place + 2 :]], **options)

    monkeypatch.setattr(client.subprocess, "Popen", start)
