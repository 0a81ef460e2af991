"""Short versions of what ``benchmarks/`` does at length: many gradings, and processes killed."""

from __future__ import annotations

import subprocess
import sys

import pytest

from .arena import ROOT

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")


@pytest.mark.parametrize(
    "command",
    [
        ["endurance.py", "--gradings", "4", "--assignment", "attention"],
        ["killing.py", "--kills", "2"],
    ],
    ids=str,
)
def test_nothing_is_left_over(command):
    program, *options = command
    done = subprocess.run(
        [sys.executable, str(ROOT / "benchmarks" / program), *options, "--seed", "1"],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
