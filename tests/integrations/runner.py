"""A runner of GitHub Actions, as far as the steps of this project's workflows need one.

Scripts are run as GitHub runs them: in the shell that it takes, with the files that it gives, and
with outputs that reach later steps through expressions alone. Actions of others are given by the
test. What it does not know is an error.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

BASH = ["bash", "--noprofile", "--norc", "-eo", "pipefail"]
"""What ``shell: bash`` means; without it, it is ``bash -e``."""

Action = Callable[[dict[str, str], dict[str, str]], dict[str, str]]
"""An action of somebody else's: takes its inputs and the environment, gives its outputs."""


def load(path: Path) -> dict[str, Any]:
    """A workflow or an action."""
    content: dict[str, Any] = yaml.safe_load(path.read_text("utf-8"))
    return content


class StepFailed(Exception):
    """A step ended with another code than 0, which ends the job."""


class Runner:
    """One job, in ``workspace``: what its steps said, and what they left in GitHub's files."""

    def __init__(
        self, workspace: Path, temp: Path, values: Mapping[str, str], **environment: str
    ) -> None:
        """``values`` are those that expressions can name, such as ``inputs.course``."""
        self.workspace = workspace
        self.temp = temp
        self.values = values
        self.log = ""
        self.summary = ""
        self.outputs: dict[str, dict[str, str]] = {}
        # CI is not set, as in .ci/run: a kernel without Landlock would be a reason not to grade.
        self.environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(temp),
            "OMP_NUM_THREADS": "1",
            "GITHUB_ACTIONS": "true",
            "GITHUB_WORKSPACE": str(workspace),
            "RUNNER_TEMP": str(temp),
            **environment,
        }

    def run(self, steps: list[dict[str, Any]], actions: Mapping[str, Action]) -> None:
        """Every step in turn. Raises StepFailed."""
        for step in steps:
            environment = self.environment | self._filled(step.get("env", {}))
            if "uses" in step:
                action = actions[step["uses"].partition("@")[0]]
                outputs = action(self._filled(step.get("with", {})), environment)
                self.outputs[step.get("id", "")] = outputs
            else:
                self._script(step, environment)

    def value(self, text: object) -> str:
        """Text with its expressions filled in; outputs and variables that nobody set are empty."""

        def found(expression: re.Match[str]) -> str:
            match expression[1].split("."):
                case ["steps", id, "outputs", name]:
                    return self.outputs.get(id, {}).get(name, "")
                case ["vars", _] if expression[1] not in self.values:
                    return ""
            return self.values[expression[1]]

        return re.sub(r"\$\{\{ ([\w.-]+) \}\}", found, str(text))

    def _filled(self, texts: Mapping[str, object]) -> dict[str, str]:
        return {name: self.value(text) for name, text in texts.items()}

    def _script(self, step: dict[str, Any], environment: dict[str, str]) -> None:
        assert "${{" not in step["run"]
        files = {name: self.temp / name for name in ("OUTPUT", "STEP_SUMMARY", "ENV", "PATH")}
        for path in files.values():
            path.write_text("")
        (self.temp / "script.sh").write_text(step["run"])
        done = subprocess.run(
            [*(BASH if step.get("shell") == "bash" else ["bash", "-e"]), self.temp / "script.sh"],
            cwd=self.workspace,
            env=environment | {f"GITHUB_{name}": str(path) for name, path in files.items()},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
        )
        self.log += done.stdout
        self.summary += files["STEP_SUMMARY"].read_text()
        assert not files["ENV"].read_text()
        assert not files["PATH"].read_text()
        if "id" in step:
            lines = files["OUTPUT"].read_text().splitlines()
            self.outputs[step["id"]] = dict(line.split("=", 1) for line in lines)
        if done.returncode:
            raise StepFailed(f"exit code {done.returncode}\n{done.stdout}")


def installed_python(folder: Path) -> Path:
    """A Python in a place of its own, whose venvs find what is installed here.

    So what a workflow installs is what it brings along, and nothing is downloaded.
    """
    folder.mkdir()
    here = folder / "here.pth"
    # In front: a venv has an old setuptools of its own.
    here.write_text(f"import sys; sys.path.insert(0, {sysconfig.get_path('purelib')!r})\n")
    python = folder / "python"
    python.write_text(
        f"""#!/bin/sh
"{sys.executable}" "$@" || exit
[ "$1 $2" != "-m venv" ] || cp "{here}" "$(echo "$3"/lib/python*/site-packages)"
"""
    )
    python.chmod(0o755)
    return python


WITHOUT_DOWNLOADS = {
    "PIP_NO_DEPS": "1",
    "PIP_NO_INDEX": "1",
    "PIP_NO_BUILD_ISOLATION": "0",  # which for this variable means: without
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
}
