"""What a fork of a process with torch costs, its memory in huge pages and in small ones.

    python benchmarks/forking.py

Linux only. A fork is timed with a first small operation of torch in the child and its end, as a job
of a warm grading process begins and ends. Prints the medians and their ratio.
"""

from __future__ import annotations

import os
import statistics
import time

from grader.execution.torch_without_dynamo import torch
from grader.processes import huge_pages
from grader.session import grading  # noqa: F401  (what a grading process holds)

FORKS = 100


def main() -> None:
    without = median_of_forks()
    huge_pages.collapse()
    with_them = median_of_forks()
    print(f"small pages  {without * 1e3:6.2f} ms")
    print(f"huge pages   {with_them * 1e3:6.2f} ms")
    print(f"ratio        {without / with_them:6.2f}")


def median_of_forks() -> float:
    """Seconds that one of ``FORKS`` forks takes, from the fork to the child's end."""
    taken = []
    for _ in range(FORKS):
        started = time.perf_counter()
        pid = os.fork()
        if pid == 0:
            torch.ones(100).sum()
            os._exit(0)
        os.waitpid(pid, 0)
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


if __name__ == "__main__":
    main()
