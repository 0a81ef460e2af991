"""What ``grade batch`` makes of more cores and of more submissions: rate, and peak memory.

Memory is that of the command and all processes below it, shared pages counted once (Pss).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from measuring import RIGHT, ROOT, WRONG, print_table

EVERY_SECONDS = 0.2


def main() -> None:
    """A few submissions and many on one core, then many on two."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--few", type=int, default=50)
    parser.add_argument("--many", type=int, default=1000)
    options = parser.parse_args()
    sys.path[:0] = [str(ROOT / "tests" / "attacks")]
    rows, rates, peaks = [], [], []
    for count, jobs in ((options.few, 1), (options.many, 1), (options.many, 2)):
        with tempfile.TemporaryDirectory(prefix="batch-") as name:
            folder = Path(name)
            hand_in(count, folder / "class")
            seconds, peak = measure(folder, jobs)
        rates.append(count / seconds)
        peaks.append(peak)
        rows.append(
            [str(count), str(jobs), f"{seconds:.0f}", f"{rates[-1]:.2f}", f"{peak / 1024:.0f}"]
        )
    print_table(["submissions", "at once", "s", "submissions/s", "peak memory, MiB"], rows)
    print(
        f"\nMemory of {options.many} beside {options.few}: {peaks[1] / peaks[0]:.2f} times; "
        f"two cores beside one: {rates[2] / rates[1]:.2f} times as fast"
    )


def hand_in(count: int, folder: Path) -> None:
    """Right and wrong answers in turns, no two of them alike."""
    folder.mkdir()
    texts = [(ROOT / name).read_text("utf-8") for name in (RIGHT, WRONG)]
    for number in range(count):
        text = f"{texts[number % 2]}\n# {number}\n"
        (folder / f"s{number:04}.py").write_text(text, "utf-8")


def measure(folder: Path, jobs: int) -> tuple[float, int]:
    """How long a batch takes, in seconds, and the most that it holds, in KiB."""
    words = ["batch", str(folder / "class"), "--assignment", "attention", "--jobs", str(jobs)]
    words += ["--course", str(ROOT), "--output", str(folder / "graded")]
    started = time.perf_counter()
    run = subprocess.Popen(
        [sys.executable, "-c", "from grader.cli.main import main; main()", *words],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    peak = 0
    done = threading.Event()

    def watch() -> None:
        nonlocal peak
        while not done.wait(EVERY_SECONDS):
            peak = max(peak, held(run.pid))

    watcher = threading.Thread(target=watch)
    watcher.start()
    code = run.wait()
    seconds = time.perf_counter() - started
    done.set()
    watcher.join()
    if code != 0:
        raise RuntimeError(f"the batch exited with {code}")
    return seconds, peak


def held(pid: int) -> int:
    """The memory of a process and all below it, in KiB."""
    import arena

    return sum(map(_held, {pid} | arena.processes_below(pid)))


def _held(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it has ended
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


if __name__ == "__main__":
    main()
