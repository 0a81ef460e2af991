"""What the benchmarks share: the baseline, the clock and the tables."""

from __future__ import annotations

import argparse
import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from grader.jobs.client import GradingProcess

ROOT = Path(__file__).resolve().parents[1]
RIGHT = "solutions/attention/accepted/einsum.py"
GRADED_A_ROUND = 10
WRONG = "tests/submissions/attention/wrong/softmax_over_queries.py"


def arguments(description: str, *, rounds: int) -> argparse.Namespace:
    """The options of a benchmark: how often to measure, and what."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--rounds", type=int, default=rounds, help=f"default: {rounds}")
    parser.add_argument("--assignment", default="attention")
    parser.add_argument(
        "submissions", nargs="*", default=[RIGHT, WRONG], help="default: a right and a wrong one"
    )
    return parser.parse_args()


def plain_pytest(submission: str, assignment: str) -> list[str]:
    """The command that runs an assignment's checks without this project; see ``plain.py``."""
    return [
        *(sys.executable, "-m", "pytest", "-q", "--import-mode=importlib", "-c", os.devnull),
        *("--rootdir", str(ROOT), "-p", "plain"),
        *("--plain-student", submission),
        *("--plain-reference", f"solutions/{assignment}/{assignment}.py"),
        f"assignments/{assignment}/test_public.py",
        f"tests/hidden/test_{assignment}.py",
    ]


def seconds(
    command: Sequence[str], *, may_exit_with: Sequence[int] = (0,), cwd: Path = ROOT
) -> float:
    """How long a command takes, from its start to its end; raises RuntimeError if it fails."""
    places = [str(ROOT), str(ROOT / "benchmarks"), str(ROOT / "tests/hidden")]
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(places),
        # The baseline is as lean as can be: no plugin but the one it needs.
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    started = time.perf_counter()
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True)
    taken = time.perf_counter() - started
    if done.returncode not in may_exit_with:
        raise RuntimeError(f"{command} exited with {done.returncode}\n{done.stdout}{done.stderr}")
    return taken


def warm_seconds(process: GradingProcess, submission: str, id: str, turn: int) -> list[float]:
    """How long each of some gradings takes in a running process, each with a seed of its own."""
    from grader.jobs.protocol import Job

    taken = []
    for number in range(GRADED_A_ROUND):
        seed = turn * GRADED_A_ROUND + number
        job = Job(submission=str(ROOT / submission), course=str(ROOT), assignment=id, seed=seed)
        started = time.perf_counter()
        process.grade(job)
        taken.append(time.perf_counter() - started)
    return taken


def spread(values: Sequence[float]) -> str:
    """Median, and between what the values lie."""
    return f"{median(values):.3f} ({min(values):.3f} to {max(values):.3f})"


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table in Markdown, and under it what it was measured on."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    rule = ["-" * width for width in widths]
    for row in (header, rule, *rows):
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
        print(f"| {' | '.join(cells)} |")
    print(
        f"\nPython {platform.python_version()}, torch {version('torch')}, "
        f"pytest {version('pytest')}, {os.cpu_count()} cores, {platform.system()}"
    )
