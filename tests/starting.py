"""Grading processes that start on another machine than this one, as far as they can tell."""

from __future__ import annotations

import subprocess

import pytest

from grader.processes import launching


def start_with(program: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have grading processes, and those of students' own tests, run ``program`` first."""
    popen = subprocess.Popen

    def start(command: list[str], **options: object) -> subprocess.Popen[bytes]:
        place = command.index("-m")
        main = f"import runpy; runpy.run_module({command[place + 1]!r}, run_name='__main__')"
        words = [*command[:place], "-c", f"{program}\n{main}", *command[place + 2 :]]
        return popen(words, **options)

    monkeypatch.setattr(launching.subprocess, "Popen", start)
