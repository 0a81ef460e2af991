"""How much faster a warm grading process is than plain pytest, a submission."""

from __future__ import annotations

import sys
from pathlib import Path
from statistics import median

from measuring import ROOT, arguments, plain_pytest, print_table, seconds, spread, warm_seconds


def main() -> None:
    """Measure in turns: one plain run, then several warm ones."""
    sys.path.insert(0, str(ROOT))
    from grader.jobs.client import GradingProcess

    options = arguments(__doc__ or "", rounds=5)
    rows = []
    with GradingProcess() as process:
        for submission in options.submissions:
            plain = plain_pytest(submission, options.assignment)
            taken: tuple[list[float], list[float]] = ([], [])
            for turn in range(options.rounds + 1):
                measured = seconds(plain, may_exit_with=(0, 1))
                warm = warm_seconds(process, submission, options.assignment, turn)
                if turn:  # the first fills the caches of the disk
                    taken[0].append(measured)
                    taken[1].extend(warm)
            factor = median(taken[0]) / median(taken[1])
            rows.append([Path(submission).name, *map(spread, taken), f"{factor:.1f}"])
    print_table(["submission", "plain pytest, s", "warm, s", "times faster"], rows)


if __name__ == "__main__":
    main()
