"""Whether two versions of the grader write the same reports on everything that is kept to try it.

    python benchmarks/same_reports.py record before
    python benchmarks/same_reports.py record before-again
    python benchmarks/same_reports.py compare before after --noise before-again

``record`` grades the submissions, the accepted variants and the attacks of the checkout it lies in,
by ``grade batch`` and with one seed. ``compare`` names every field in which two records of the same
assignments differ, but for times, digests and tracebacks; what differs between two records of one
version is noise, and counted.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SEED = 17
LIMITS = """
[limits]
import_seconds = 5.0
check_seconds = 6.0
submission_seconds = 60.0
memory_bytes = 335544320
"""
OF_THE_MOMENT = {"duration_s", "started_at", "suite_digest", "digest", "grader"}
"""Keys whose values no two runs share: attacks are told where their targets lie."""
TRACEBACK = re.compile(r"Traceback \(most recent call last\):\n.*\n(?=\S)", re.DOTALL)
"""Lines of pytest's and of the grader's own, which move with every change."""
NUMBERS = re.compile(r"0x[0-9a-f]+|\b\d+(\.\d+)? (s|ms|seconds)\b|/tmp/\S+|pid \d+|address\S* \S+")
PLACES = """
COURSE, NEIGHBOUR, FOLDER = "/nowhere/course", "/nowhere/attention.py", "/nowhere/open"
TOKEN, SECRET, PORT, LIMIT = "attack-same-reports", "GRADE_ATTACK_SECRET", 9, 402653184
CANARY_HALVES = (b"0123456789abcdef", b"fedcba9876543210")
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    recording = commands.add_parser("record", help="grade everything into a folder")
    recording.add_argument("folder", type=Path)
    recording.add_argument("--only", nargs="*", default=[], help="assignments (default: all)")
    comparing = commands.add_parser("compare", help="compare two records")
    comparing.add_argument("before", type=Path)
    comparing.add_argument("after", type=Path)
    comparing.add_argument("--but", nargs="*", default=[], help="keys that only one of them has")
    comparing.add_argument("--noise", type=Path, help="a second record of what `before` is of")
    chosen = parser.parse_args()
    if chosen.command == "record":
        return record(chosen.folder, chosen.only)
    OF_THE_MOMENT.update(chosen.but)
    return compare(chosen.before, chosen.after, chosen.noise)


def record(folder: Path, only: list[str]) -> int:
    with tempfile.TemporaryDirectory(prefix="same-reports-") as place:
        course = Path(place) / "course"
        for part in ("assignments", "solutions", "tests/hidden"):
            shutil.copytree(ROOT / part, course / part)
        for described in course.glob("assignments/*/assignment.toml"):
            text = re.sub(r"\[limits\]\n(\w+ = .*\n)+", "", described.read_text("utf-8"))
            described.write_text(text + LIMITS, "utf-8")
        for assignment in only or _assignments():
            students = Path(place) / assignment
            count = sum(1 for _ in _hand_in(assignment, students))
            command = [sys.executable, "-m", "grader.cli", "batch", str(students)]
            command += ["--layout", "folders", "--course", str(course), "--assignment", assignment]
            command += ["--output", str(folder / assignment), "--seed", str(SEED), "--only-these"]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
            reports = list((folder / assignment / "reports").rglob("*.json"))
            print(f"{assignment}: {len(reports)} reports on {count} submissions", flush=True)
            if done.returncode not in (0, 1) or len(reports) != count:
                print(done.stdout[-2000:], done.stderr[-4000:], file=sys.stderr)
                return 1
    return 0


def _assignments() -> list[str]:
    return sorted(path.name for path in (ROOT / "assignments").iterdir() if path.is_dir())


def _hand_in(assignment: str, students: Path) -> Iterator[Path]:
    """A folder for each submission, named after where it lies."""
    corpora = {
        "submissions": ROOT / "tests" / "submissions" / assignment,
        "accepted": ROOT / "solutions" / assignment / "accepted",
        "attacks": ROOT / "tests" / "attacks" / assignment,
    }
    for name, corpus in corpora.items():
        for path in sorted(corpus.rglob("*")):
            if path.suffix not in (".py", ".ipynb") or path.name.startswith("__"):
                continue
            below = path.relative_to(corpus).with_suffix("").as_posix()
            student = students / re.sub(r"[^\w-]+", "-", f"{name}-{below}")
            student.mkdir(parents=True)
            shutil.copy(path, student / f"{assignment}{path.suffix}")
            if name == "attacks":
                _arm(student, assignment)
            yield student


def _arm(student: Path, assignment: str) -> None:
    """Put what attacks import beside one; nothing that it could harm is there."""
    support = ROOT / "tests" / "attacks" / "support"
    for helper in ("wire", "seen"):
        shutil.copy(support / f"{helper}.py", student)
    shutil.copy(ROOT / "solutions" / assignment / f"{assignment}.py", student / "honest.py")
    targets = (support / "targets.py").read_text("utf-8")
    (student / "targets.py").write_text(targets.replace("# -- filled in here\n", PLACES), "utf-8")


def compare(before: Path, after: Path, noise: Path | None) -> int:
    first, second = _read(before), _read(after)
    shared = {name.split("/")[0] for name in first} & {name.split("/")[0] for name in second}
    first, second = (_only(shared, one) for one in (first, second))
    noisy = _differences(first, _read(noise)) if noise else {}
    found = _differences(first, second)
    new = {
        name: {place: pair for place, pair in pairs.items() if place not in noisy.get(name, {})}
        for name, pairs in found.items()
    }
    new = {name: pairs for name, pairs in new.items() if pairs}
    for name, pairs in sorted(new.items()):
        for place, (old, now) in sorted(pairs.items()):
            print(f"{name}: {place}\n    before {old!r:.400}\n    after  {now!r:.400}")
    print(
        f"{len(first)} reports before, {len(second)} after: {len(new)} differ; "
        f"{sum(name in noisy for name in found)} differ only in what also differs "
        f"between two runs of the same version ({len(noisy)} reports)"
        if noise
        else f"{len(first)} reports before, {len(second)} after: {len(new)} differ"
    )
    return int(bool(new))


def _read(folder: Path) -> dict[str, dict[str, Any]]:
    """The fields of each report, by its path below the folder."""
    return {
        path.relative_to(folder).as_posix(): dict(_fields(json.loads(path.read_text("utf-8"))))
        for path in folder.glob("*/reports/**/*.json")
    }


def _only(assignments: set[str], read: dict[str, Any]) -> dict[str, Any]:
    return {name: fields for name, fields in read.items() if name.split("/")[0] in assignments}


def _fields(value: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key not in OF_THE_MOMENT:
                yield from _fields(item, f"{place}.{key}" if place else key)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            name = item.get("id", number) if isinstance(item, dict) else number
            yield from _fields(item, f"{place}[{name}]")
    else:
        yield place, _settled(value) if isinstance(value, str) else value


def _settled(text: str) -> str:
    """A text without what no two runs share."""
    return NUMBERS.sub("...", TRACEBACK.sub("Traceback: ", text))


def _differences(
    first: dict[str, dict[str, Any]], second: dict[str, dict[str, Any]]
) -> dict[str, dict[str, tuple[Any, Any]]]:
    return {
        name: pairs
        for name in first.keys() | second.keys()
        if (pairs := _pairs(first.get(name, {}), second.get(name, {})))
    }


def _pairs(first: dict[str, Any], second: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    absent = "nothing"
    return {
        place: (first.get(place, absent), second.get(place, absent))
        for place in first.keys() | second.keys()
        if first.get(place, absent) != second.get(place, absent)
    }


if __name__ == "__main__":
    sys.exit(main())
