"""How much longer a cold ``grade run`` takes than plain pytest on the same checks."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from statistics import median

from measuring import arguments, plain_pytest, print_table, seconds, spread


def main() -> None:
    """Measure in turns, plain pytest first, so that both meet the same machine."""
    options = arguments(__doc__ or "", rounds=7)
    rows = []
    for submission in options.submissions:
        plain = plain_pytest(submission, options.assignment)
        ours = [
            *(sys.executable, "-m", "grader.cli", "run", submission),
            *("--assignment", options.assignment, "--output", os.devnull),
        ]
        taken: tuple[list[float], list[float]] = ([], [])
        for turn in range(options.rounds + 1):
            measured = seconds(plain, may_exit_with=(0, 1)), seconds(ours)
            if turn:  # the first fills the caches of the disk
                for values, value in zip(taken, measured, strict=True):
                    values.append(value)
        ratio = median(taken[1]) / median(taken[0])
        rows.append([Path(submission).name, *map(spread, taken), f"{ratio:.2f}"])
    print_table(["submission", "plain pytest, s", "grade run, s", "ratio"], rows)


if __name__ == "__main__":
    main()
