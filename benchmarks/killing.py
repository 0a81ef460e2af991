"""Kills the processes of ``grade run`` at random moments: a complete report, or none.

Exits with 1 if half a report was written, an exit code was unclear, a process survived, or staged
files stayed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from measuring import ROOT, WRONG, print_table

VICTIMS = ("grading process", "fork server", "session", "worker", "command")
GRADED, FAULT = 0, 3
WAIT = 20.0


def main() -> int:
    """Start, wait for a random while, kill, and look at what is left."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    options = parser.parse_args()
    sys.path[:0] = [str(ROOT / "tests" / "attacks")]
    import arena

    arena.adopt_orphans()
    chance = random.Random(options.seed)
    outcomes: dict[str, Counter[str]] = {victim: Counter() for victim in VICTIMS}
    problems: list[str] = []
    started = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="killing-") as folder:
        output, temporary = Path(folder, "report.json"), Path(folder, "temporary")
        temporary.mkdir()
        os.environ["TMPDIR"] = str(temporary)
        whole = time.perf_counter()
        _finish(_start(output))
        whole = time.perf_counter() - whole
        complete = _complete(output)
        assert complete is not None
        for number in range(options.kills):
            victim = VICTIMS[number % len(VICTIMS)]
            output.unlink(missing_ok=True)
            run = _start(output)
            killed = _kill(run.pid, victim, chance.uniform(0, whole))
            code = _finish(run)
            checks = _complete(output) if output.exists() else None
            by_itself = killed and victim == "command"
            left = _survivors(lambda: arena.processes_below(os.getpid()))
            words = "no moment to kill" if not killed else f"exit {code}"
            words += ", no report" if checks is None else ", report"
            outcomes[victim][words] += 1
            if checks is not None and checks != complete:
                problems.append(f"{victim}: the report holds {checks} of {complete} checks")
            clear = GRADED if checks is not None else -signal.SIGKILL if by_itself else FAULT
            if code != clear:
                problems.append(f"{victim}: exit {code} with checks {checks}")
            if left:
                problems.append(f"{victim}: {len(left)} processes survive")
        # What a killed command had staged is for the next one to take away.
        _finish(_start(output))
        problems += [f"{path.name} is left staged" for path in temporary.iterdir()]
    rows = [
        [victim, "; ".join(f"{count} x {words}" for words, count in sorted(seen.items()))]
        for victim, seen in outcomes.items()
    ]
    print_table(["killed", "what became of it"], rows)
    print(
        f"\n{options.kills} runs in {time.perf_counter() - started:.0f} s, seed {options.seed}, "
        f"moments within {whole:.1f} s"
    )
    for problem in problems:
        print(f"WRONG: {problem}")
    return 1 if problems else 0


def _start(output: Path) -> subprocess.Popen[bytes]:
    command = [
        sys.executable,
        "-c",
        "from grader.cli.main import main; main()",
        "run",
        str(ROOT / WRONG),
    ]
    command += ["--assignment", "attention", "--course", str(ROOT), "--output", str(output)]
    return subprocess.Popen(command, cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _finish(run: subprocess.Popen[bytes]) -> int:
    return run.wait(timeout=300)


def _kill(command: int, victim: str, after: float) -> bool:
    """Kill ``victim`` once ``after`` seconds have passed and it is there; False if it never is."""
    moment = time.perf_counter() + after
    while True:
        pid = _find(command, victim)
        if pid is not None and time.perf_counter() >= moment:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                continue
            return True
        if not _children(command) and time.perf_counter() >= moment:
            return False
        time.sleep(0.002)


def _find(command: int, victim: str) -> int | None:
    """The process of this kind below the command: the fork server is its parent's first child."""
    if victim == "command":
        return command
    for root in _children(command)[:1]:
        if victim == "grading process":
            return root
        below = _children(root)
        if victim == "session":
            return below[1] if len(below) > 1 else None
        if victim == "fork server":
            return below[0] if below else None
        workers = _children(below[0]) if below else []
        return workers[0] if workers else None
    return None


def _children(pid: int) -> list[int]:
    """In the order in which they were started."""
    try:
        return [
            int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        ]
    except OSError:
        return []


def _complete(output: Path) -> int | None:
    """How many checks the report holds; None if it is none. Raises ValueError for half of one."""
    report = json.loads(output.read_text("utf-8"))
    assert report["score"]["possible"] == sum(check["points"] for check in report["checks"])
    return len(report["checks"])


def _survivors(look: Callable[[], set[int]]) -> set[int]:
    """What is still there after a while."""
    deadline = time.monotonic() + WAIT
    while (left := look()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return left


if __name__ == "__main__":
    sys.exit(main())
