"""How long `grade watch` takes from a save to the verdict, and how that compares with pytest."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from measuring import ROOT, arguments, plain_pytest, print_table, seconds, spread

SAVES_A_ROUND = 5


def main() -> None:
    """Measure in turns: one plain run, then several saves under a watch."""
    sys.path.insert(0, str(ROOT))
    from grader.jobs.protocol import Options
    from grader.watching.events import Verdict
    from grader.watching.targets import watched
    from grader.watching.watch import Watch

    options = arguments(__doc__ or "", rounds=5)
    rows = []
    for submission in options.submissions:
        plain = plain_pytest(submission, options.assignment)
        text = (ROOT / submission).read_text()
        runs: list[float] = []
        saves: list[float] = []
        gradings: list[float] = []
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, f"{options.assignment}.py")
            file.write_text(text)
            course, every, start = watched(
                str(file), assignment=options.assignment, course=str(ROOT)
            )
            with Watch(every, start, course, Options(seed=1)) as watch:
                verdicts = (event for event in watch if isinstance(event, Verdict))
                next(verdicts)
                for turn in range(options.rounds + 1):
                    run = seconds(plain, may_exit_with=(0, 1))
                    for number in range(SAVES_A_ROUND):
                        started = time.perf_counter()
                        # Another state each time: what has not changed is not graded.
                        file.write_text(f"{text}# {turn}.{number}\n")
                        verdict = next(verdicts)
                        taken = time.perf_counter() - started
                        if turn:  # the first fills the caches of the disk
                            saves.append(taken)
                            gradings.append(verdict.report.duration_s)
                    if turn:
                        runs.append(run)
        factor = median(runs) / median(saves)
        cells = [spread(saves), spread(gradings), spread(runs), f"{factor:.1f}"]
        rows.append([Path(submission).name, *cells])
    header = ["submission", "save to verdict, s", "of it grading, s", "plain pytest, s"]
    print_table([*header, "times faster"], rows)


if __name__ == "__main__":
    main()
