"""One right submission and the same checks: this project, pytest, nbgrader and otter-grader.

The peers run the checks as they would any: nbgrader and otter in a notebook's cells.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from statistics import median

from measuring import ROOT, arguments, plain_pytest, print_table, seconds, spread, warm_seconds
from nbgrader_class import checking, kernel_for_each, notebook

from grader.jobs.client import GradingProcess

IN_ONE_AUTOGRADE = 4
OTTER_TEST = """\
from otter.test_files import test_case

OK_FORMAT = False
name = "checks"
points = 1


@test_case()
def test_checks():
{checks}
"""


def main() -> None:
    """Measure in turns, a round not counted first."""
    options = arguments(__doc__ or "", rounds=3)
    id, (submission, *_) = options.assignment, options.submissions
    with tempfile.TemporaryDirectory(prefix="peers-") as folder, GradingProcess() as process:
        otter = otter_run(Path(folder, "otter"), submission, id)
        json_report = ["-p", "pytest_jsonreport.plugin", "--json-report", "--json-report-file=none"]
        ways: dict[str, Callable[[int], float]] = {
            "this project, in a warm process": lambda turn: median(
                warm_seconds(process, submission, id, turn)
            ),
            "`grade run`": lambda turn: seconds(grade_run(submission, id, turn)),
            "`pytest --json-report`": lambda turn: seconds(
                [*plain_pytest(submission, id), *json_report]
            ),
            f"`nbgrader autograde` of {IN_ONE_AUTOGRADE}, each": lambda turn: kernel_for_each(
                Path(folder, f"nbgrader{turn}"), id, IN_ONE_AUTOGRADE, ROOT / submission
            ),
            "`otter run`": lambda turn: otter(),
        }
        taken: dict[str, list[float]] = {name: [] for name in ways}
        for turn in range(options.rounds + 1):
            for name, way in ways.items():
                found = way(turn)
                if turn:  # the first fills the caches of the disk
                    taken[name].append(found)
    best = median(next(iter(taken.values())))
    rows = [[name, spread(each), f"{median(each) / best:.1f}"] for name, each in taken.items()]
    print_table([f"{id}, {Path(submission).name}", "s a submission", "times as long"], rows)


def grade_run(submission: str, id: str, turn: int) -> list[str]:
    """The command that a student types."""
    command = [sys.executable, "-m", "grader.cli", "run", submission]
    return [*command, "--assignment", id, "--seed", str(turn)]


def otter_run(folder: Path, submission: str, id: str) -> Callable[[], float]:
    """Make an autograder of the checks; what it returns grades the submission, in seconds."""
    otter = shutil.which("otter", path=Path(sys.executable).parent)
    if otter is None:
        sys.exit("otter-grader is not there: pip install -r benchmarks/requirements.txt")
    tests = folder / "tests"
    tests.mkdir(parents=True)
    text = (ROOT / submission).read_text("utf-8")
    lines = checking(id, text).splitlines()
    checks = "\n".join(f"    {line}" for line in lines)
    (tests / "checks.py").write_text(OTTER_TEST.format(checks=checks), "utf-8")
    handed_in = folder / "submission.ipynb"
    handed_in.write_text(json.dumps(notebook([text])), "utf-8")
    seconds([otter, "generate", "-t", "tests", "-o", "autograder.zip"], cwd=folder)

    def graded() -> float:
        taken = seconds([otter, "run", "-a", "autograder.zip", handed_in.name], cwd=folder)
        score = json.loads((folder / "results.json").read_text("utf-8"))["tests"][-1]
        if score["score"] != score["max_score"]:
            raise RuntimeError(f"otter did not find the submission right: {score}")
        return taken

    return graded


if __name__ == "__main__":
    main()
