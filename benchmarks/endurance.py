"""What is left over after many gradings, hostile and honest in turns, in one grading process.

Exits with 1 if an honest score was wrong, an attack did harm, or something was left over.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from measuring import ROOT, print_table

HONEST_EVERY = 2
GROWTH = 0.05
"""The share by which resident memory may have grown."""
WAIT = 20.0
RESIDENT = 2
"""The grading process and the fork server, beside which there is a template for each assignment."""


def main() -> int:
    """Grade, measure before and after, and say what differs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--gradings", type=int, default=1000)
    parser.add_argument("--assignment", help="attack this one alone")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--sandbox", default="auto", choices=["auto", "require"])
    options = parser.parse_args()
    sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "attacks")]
    import arena

    arena.adopt_orphans()
    chance = random.Random(options.seed)
    table = arena.attacks()
    names = sorted(
        name
        for name, attack in table.items()
        if attack.seconds is None and options.assignment in (None, name.split("/")[0])
    )
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="endurance-") as folder:
        place = arena.Arena(Path(folder))
        problems: list[str] = []
        counts = {"attacks": 0, "honest": 0}

        def look() -> set[int]:
            return arena.processes_below(os.getpid())

        def grade(number: int) -> None:
            if number % HONEST_EVERY:
                report = process.grade(place.honest_job())
                counts["honest"] += 1
                if report.score.earned != report.score.possible:
                    problems.append(f"honest: {report.score.earned} of {report.score.possible}")
                return
            name = chance.choice(names)
            counts["attacks"] += 1
            report = process.grade(place.job(name, table[name], sandbox=options.sandbox))
            problems.extend(f"{name}: {harm}" for harm in place.harm(report))

        with place.start() as process:
            # Whatever is graded twice has a template from then on.
            kinds = {(name.split("/")[0], table[name].public_only): name for name in names}
            for name in [*kinds.values()] * 2:
                process.grade(place.job(name, table[name], sandbox=options.sandbox))
            resident = RESIDENT + len(kinds)
            before = Held(_settled(look, resident))
            for number in range(options.gradings):
                grade(number)
            after = Held(_settled(look, resident))
        place.close()
        problems += before.problems(after)
        left = _settled(look, 0)
    problems += [f"{len(left)} processes outlive the grading process"] if left else []
    rows = [[what, str(old), str(new)] for what, old, new in before.beside(after)]
    print_table(["of the grading process and the fork server", "before", "after"], rows)
    print(
        f"\n{counts['honest']} honest and {counts['attacks']} hostile gradings in "
        f"{time.perf_counter() - started:.0f} s, seed {options.seed}"
    )
    for problem in problems:
        print(f"WRONG: {problem}")
    return 1 if problems else 0


class Held:
    """What processes hold: open files and resident memory, where they may be looked at."""

    def __init__(self, pids: set[int]) -> None:
        self.pids = pids
        self.files = sum(_count(f"/proc/{pid}/fd") for pid in pids)
        self.resident = sum(_resident(pid) for pid in pids)

    def beside(self, after: Held) -> list[tuple[str, int, int]]:
        return [
            ("processes", len(self.pids), len(after.pids)),
            ("open files", self.files, after.files),
            ("resident memory, MiB", self.resident >> 20, after.resident >> 20),
        ]

    def problems(self, after: Held) -> list[str]:
        """What there is more of than there was."""
        found = []
        if after.pids != self.pids:
            found.append("the processes are not those of the beginning")
        if after.files > self.files:
            found.append(f"{after.files - self.files} files more are open")
        if after.resident > self.resident * (1 + GROWTH):
            found.append("resident memory has grown")
        return found


def _settled(look: Callable[[], set[int]], count: int) -> set[int]:
    """The processes as soon as there are so many; a session ends a little after its report."""
    deadline = time.monotonic() + WAIT
    while len(found := look()) > count and time.monotonic() < deadline:
        time.sleep(0.02)
    return found


def _count(folder: str) -> int:
    try:
        return len(os.listdir(folder))
    except OSError:  # of a process that is not dumpable, for anybody but root
        return 0


def _resident(pid: int) -> int:
    fields = Path(f"/proc/{pid}/statm").read_text().split()
    return int(fields[1]) * resource.getpagesize()


if __name__ == "__main__":
    sys.exit(main())
