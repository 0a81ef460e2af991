"""Grades a class of known submissions in one batch, then while it is killed, then on a cluster.

The class is made of right answers written differently, known faults and attacks. Exits with 1 if a
score is not what it should be, a killed and resumed batch or a cluster of which a worker is killed
comes to another result, or a batch grades something twice.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from measuring import ROOT, print_table

SEED = "7"
GRADED = re.compile(r"\d+/\d+ \S+: (?!.*, kept$)")


class Student(msgspec.Struct, kw_only=True):
    """One of the class, and what is known of what they hand in."""

    kind: str
    what: str
    assignment: str
    files: dict[str, str] = {}
    folder: Path | None = None
    least: float = 0.0
    """The smallest share of the points that is right."""
    most: float = 1.0
    points: tuple[int, int] | None = None
    """The points that are right, where they are known."""
    families: tuple[str, ...] = ()
    """Families of checks of which at least one has to fail."""
    by_chance: bool = False
    """Whether two gradings may differ."""


def main() -> int:
    """Make the class, grade it at once, then in pieces, and compare."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--students", type=int, default=300)
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--workers", type=int, default=2, help="of the cluster; 0: no cluster")
    parser.add_argument("--jobs", type=int, help="default: one for each core")
    options = parser.parse_args()
    sys.path[:0] = [str(ROOT), str(ROOT / "tests" / "attacks")]
    import arena

    chance = random.Random(options.seed)
    problems: list[str] = []
    with tempfile.TemporaryDirectory(prefix="class-") as name:
        folder = Path(name)
        place = arena.Arena(folder / "arena")
        students = choose(options.students, chance, place)
        hand_in(students, folder / "class")
        at_once, in_pieces = folder / "at-once", folder / "in-pieces"
        extra = ["--jobs", str(options.jobs)] if options.jobs else []

        started = time.perf_counter()
        graded = finish(start(folder / "class", at_once, extra))
        seconds = time.perf_counter() - started
        reports = read(at_once)
        problems += wrong_scores(students, reports, at_once)
        problems += place.harm()
        print_table(["handed in", "submissions", "full marks"], marks(students, reports))
        print(f"\n{graded} graded at once in {seconds:.0f} s; seed {options.seed}", flush=True)

        runs = []
        for moment in sorted(chance.uniform(0, len(students)) for _ in range(options.kills)):
            runs.append(kill(start(folder / "class", in_pieces, extra), in_pieces, moment, chance))
        runs.append(finish(start(folder / "class", in_pieces, extra)))
        problems += differences(students, reports, read(in_pieces))
        if sum(runs) > len(students):
            problems.append(f"{sum(runs)} gradings of {len(students)} submissions were finished")
        print(f"Killed {options.kills} times: {' + '.join(map(str, runs))} graded", flush=True)

        if options.workers:
            moment = chance.uniform(0, len(students) / 2)
            on_cluster = folder / "on-cluster"
            graded = grade_on_cluster(folder, on_cluster, options.workers, moment)
            problems += differences(students, reports, read(on_cluster))
            lost = f"one of {options.workers} workers killed after {moment:.0f}"
            print(f"On a Dask cluster, {lost}: {graded} graded")
        place.close()
    for problem in problems:
        print(f"WRONG: {problem}")
    return 1 if problems else 0


def marks(students: dict[str, Student], reports: dict[str, Any]) -> list[list[str]]:
    """How many of each kind there are, and how many have full marks."""
    every, full = Counter[str](), Counter[str]()
    for name, student in students.items():
        score = reports[name]["score"] if name in reports else {"earned": None, "possible": 0}
        every[student.kind] += 1
        full[student.kind] += score["earned"] == score["possible"]
    return [[kind, str(count), str(full[kind])] for kind, count in sorted(every.items())]


def choose(count: int, chance: random.Random, place: Any) -> dict[str, Student]:
    """The class by name: as much of each kind as there is, or its share; every assignment."""
    kinds = [list(accepted()), list(attacks(place)), list(faults())]
    for kind in kinds:
        chance.shuffle(kind)
    chosen: list[Student] = []
    for number, kind in enumerate(kinds):
        share = (count - len(chosen)) // (len(kinds) - number)
        chosen += kind[:share]
    chance.shuffle(chosen)
    return {f"s{number:03}": student for number, student in enumerate(chosen, 1)}


def accepted() -> Iterator[Student]:
    """Right answers: full marks."""
    for path in sorted((ROOT / "solutions").glob("*/accepted/*.py")):
        id = path.parents[1].name
        yield Student(
            kind="accepted variant",
            what=path.stem,
            assignment=id,
            files={f"{id}.py": path.read_text("utf-8")},
            least=1.0,
        )


def faults() -> Iterator[Student]:
    """Known faults: one of the families that have to catch them does."""
    from grader.course.loading import load_course
    from grader.diagnosis.catalogue import Catalogue

    for assignment in load_course(ROOT).assignments.values():
        catalogue = Catalogue(assignment)
        for fault in catalogue:
            source = catalogue.build(fault)
            assert source is not None
            yield Student(
                kind="fault",
                what=fault.slug,
                assignment=assignment.id,
                files={assignment.file: source},
                most=0.999,
                families=fault.fails,
            )


def attacks(place: Any) -> Iterator[Student]:
    """Attacks that the usual options show: the points that tests/attacks/expected.toml says."""
    import arena

    for name, attack in arena.attacks().items():
        if attack.seconds is None and not attack.public_only:
            earned = attack.earned
            least, most = (earned, earned) if isinstance(earned, int) else earned
            yield Student(
                kind="attack",
                what=name,
                assignment=name.split("/")[0],
                folder=Path(place.job(name, attack).submission),
                points=(least, most),
                by_chance=least != most,
            )


def hand_in(students: dict[str, Student], folder: Path) -> None:
    """Lay the class out: a folder for each assignment, in it one for each student."""
    for name, student in students.items():
        own = folder / student.assignment / name
        if student.folder is not None:
            shutil.copytree(student.folder, own)
            continue
        own.mkdir(parents=True)
        for file, text in student.files.items():
            (own / file).write_text(text, "utf-8")


def start(folder: Path, output: Path, extra: Sequence[str]) -> subprocess.Popen[str]:
    words = ["batch", str(folder), "--course", str(ROOT), "--output", str(output), "--seed", SEED]
    command = "from grader.cli.main import main; main()"
    return subprocess.Popen(
        [sys.executable, "-c", command, *words, *extra],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def finish(run: subprocess.Popen[str]) -> int:
    """Wait for the end; how many submissions it graded. Raises RuntimeError if it failed."""
    graded = 0
    assert run.stderr is not None
    last = ""
    for last in run.stderr:
        graded += GRADED.match(last) is not None
    if run.wait() not in (0, -signal.SIGKILL):
        raise RuntimeError(f"the batch exited with {run.returncode}: {last}")
    return graded


def wait_for(run: subprocess.Popen[str], output: Path, moment: float) -> None:
    """Wait until so many reports are there, or the batch has ended."""
    reports = output / "reports"
    while run.poll() is None and len(list(reports.glob("*/*.json"))) < moment:
        time.sleep(0.1)


def kill(run: subprocess.Popen[str], output: Path, moment: float, chance: random.Random) -> int:
    """Kill the batch a little after so many reports are there; how many it graded."""
    wait_for(run, output, moment)
    time.sleep(chance.uniform(0, 1))
    run.kill()
    return finish(run)


def grade_on_cluster(folder: Path, output: Path, workers: int, moment: float) -> int:
    """Grade the class on a Dask cluster on loopback, of which a worker is killed on the way."""
    file = folder / "scheduler.json"
    scheduler = dask("scheduler", "--host", "127.0.0.1", "--port", "0", "--scheduler-file", file)
    while not file.exists() and scheduler.poll() is None:
        time.sleep(0.1)
    address = json.loads(file.read_bytes())["address"]
    own = ["--nthreads", "1", "--no-nanny", "--local-directory", folder]
    processes = [dask("worker", address, *own) for _ in range(workers)]
    try:
        batch = start(folder / "class", output, ["--scheduler", address])
        wait_for(batch, output, moment)
        processes[0].kill()
        return finish(batch)
    finally:
        for process in (*processes, scheduler):
            process.terminate()
            process.wait()


def dask(*words: str | Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "dask", *map(str, words), "--no-dashboard"],
        cwd=ROOT,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def read(output: Path) -> dict[str, Any]:
    """The reports, by student."""
    return {
        path.stem: json.loads(path.read_bytes()) for path in (output / "reports").glob("*/*.json")
    }


def wrong_scores(
    students: dict[str, Student], reports: dict[str, Any], output: Path
) -> Iterator[str]:
    """What is not as it should be."""
    with (output / "grades.csv").open(encoding="utf-8", newline="") as file:
        totals = {row["student"]: row["total"] for row in csv.DictReader(file)}
    for name, student in students.items():
        who = f"{student.kind} {student.what} ({student.assignment})"
        report = reports.get(name)
        if report is None:
            yield f"{who}: there is no report"
            continue
        earned, possible = report["score"]["earned"], report["score"]["possible"]
        least, most = student.points or (student.least * possible, student.most * possible)
        if not least <= earned <= most:
            yield f"{who}: {earned} of {possible} points"
        if totals.get(name) != str(earned):
            yield f"{who}: {earned} points, and {totals.get(name)!r} in grades.csv"
        lost = {one["family"] for one in report["checks"] if one["earned"] < one["points"]}
        if student.families and not lost & set(student.families):
            yield f"{who}: caught by {sorted(lost)}, not by {student.families}"


def differences(
    students: dict[str, Student], first: dict[str, Any], second: dict[str, Any]
) -> Iterator[str]:
    """Where two batches come to different results."""
    if set(first) != set(second):
        yield f"reports of {set(first) ^ set(second)} are in one batch only"
    for name in set(first) & set(second):
        one, other = summary(first[name]), summary(second[name])
        if one != other and not students[name].by_chance:
            student = students[name]
            changed = [pair for pair in zip(one, other, strict=False) if pair[0] != pair[1]]
            yield f"{student.kind} {student.what} ({student.assignment}): {changed[:2]}"


def summary(report: dict[str, Any]) -> list[object]:
    checks = [(one["id"], one["status"], one["earned"]) for one in report["checks"]]
    return [report["status"], [one["faults"] for one in report["diagnosis"]], *checks]


if __name__ == "__main__":
    os.environ.setdefault("PYTHONUNBUFFERED", "1")
    sys.exit(main())
