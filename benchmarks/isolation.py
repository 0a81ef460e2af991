"""What ``--isolate`` costs: until the first report, and for each grading after that."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from statistics import median

from measuring import ROOT, arguments, print_table, spread

GRADED_A_ROUND = 10


def main() -> None:
    """Measure in turns, without and with, so that both meet the same machine."""
    options = arguments(__doc__ or "", rounds=5)
    sys.path.insert(0, str(ROOT))
    from grader.jobs.client import GradingProcess
    from grader.jobs.protocol import Job

    def measure(submission: str, *, isolate: bool) -> Iterator[float]:
        """Seconds from the start to the first report, then of each further grading."""
        started = time.perf_counter()
        with GradingProcess(isolate=isolate) as process:
            for number in range(GRADED_A_ROUND + 2):
                job = Job(
                    submission=str(ROOT / submission),
                    course=str(ROOT),
                    assignment=options.assignment,
                    seed=number,
                )
                process.grade(job)
                if number != 1:  # the second makes a template
                    yield time.perf_counter() - started
                started = time.perf_counter()

    rows = []
    for submission in options.submissions:
        first: dict[bool, list[float]] = {False: [], True: []}
        later: dict[bool, list[float]] = {False: [], True: []}
        for turn in range(options.rounds + 1):
            for isolate in (False, True):
                cold, *warm = measure(submission, isolate=isolate)
                if turn:  # the first fills the caches of the disk
                    first[isolate].append(cold)
                    later[isolate].extend(warm)
        for what, taken in (("first report", first), ("each later one", later)):
            ratio = median(taken[True]) / median(taken[False])
            rows.append([what, spread(taken[False]), spread(taken[True]), f"{ratio:.2f}"])
    print_table(["seconds", "without", "with --isolate", "ratio"], rows)


if __name__ == "__main__":
    main()
