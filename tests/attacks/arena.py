"""A place to attack: a course with canaries in it, a neighbour, a port, and eyes on all of them."""

from __future__ import annotations

import contextlib
import ctypes
import glob
import os
import re
import secrets
import shutil
import socket
import sys
import tempfile
import tomllib
from pathlib import Path
from typing import Any

import msgspec

from grader.jobs.client import GradingProcess
from grader.jobs.protocol import Job
from grader.report.model import Report

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
ASSIGNMENTS = ("attention", "mha", "cached_mha", "transformer")
SECRET = "GRADE_ATTACK_SECRET"
SEED = 20_170_612
LIMIT_BYTES = 384 << 20
LIMITS = f"""
import_seconds = 5.0
check_seconds = 6.0
submission_seconds = 60.0
memory_bytes = {LIMIT_BYTES - (64 << 20)}
"""
_SET_CHILD_SUBREAPER = 36


class Attack(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the table says of one attack; what it tries is said in its file."""

    earned: int | list[int]
    """Its points, or the least and the most where chance has a say."""
    statuses: list[str]
    """All that its checks may end with."""
    says: str = ""
    """What one of its messages says (a regular expression)."""
    prints: str = ""
    """What it is known to have printed (a regular expression)."""
    seconds: float | None = None
    """A shorter limit for a check, where each would be used up."""
    public_only: bool = False
    """Whether the public checks are enough, where each takes its time."""
    alone: bool = False
    """Whether only its file is handed in, from a folder where the others are somebody else's."""
    smuggles: bool = False
    """Whether it prints digits of inputs, which then may be nowhere else."""


def attacks() -> dict[str, Attack]:
    """The table, by the file's path below this folder."""
    table = tomllib.loads((HERE / "expected.toml").read_text("utf-8"))
    return {name: msgspec.convert(row, Attack) for name, row in table.items()}


def files() -> list[str]:
    """Every attack that there is a file of."""
    return sorted(
        path.relative_to(HERE).as_posix()
        for assignment in ASSIGNMENTS
        for path in (HERE / assignment).glob("*.py")
    )


class Arena:
    """What is attacked, in ``folder``; whatever is done to it is found by ``harm``.

    Everything is open to every user: it has to be the sandbox that refuses.
    """

    def __init__(self, folder: Path) -> None:
        self.token = f"attack-{secrets.token_hex(8)}"
        self.canary = secrets.token_hex(16)
        self._folder = folder
        self.course = folder / "course"
        _copy_course(self.course, self.canary)
        self.neighbour = folder / "batch" / "neighbour" / "attention.py"
        self.neighbour.parent.mkdir(parents=True)
        solution = ROOT / "solutions" / "attention" / "attention.py"
        self._honest = f"{solution.read_text('utf-8')}\n# {self.canary}\n"
        self.neighbour.write_text(self._honest, "utf-8")
        self.open_folder = folder / "open"
        self.open_folder.mkdir()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._listener.setblocking(False)
        self._count = 0
        for path in (folder, *folder.rglob("*")):
            path.chmod(0o777 if path.is_dir() else 0o666)
        _open_the_way_to(folder)

    def start(self) -> GradingProcess:
        """A grading process, started by somebody who has a secret in their environment."""
        os.environ[SECRET] = self.canary
        try:
            return GradingProcess()
        finally:
            del os.environ[SECRET]

    def job(self, name: str, attack: Attack | None = None, **options: Any) -> Job:
        """The attack ``name``, handed in."""
        attack = attack or Attack(earned=0, statuses=[])
        assignment = name.split("/")[0]
        return Job(
            submission=str(self._hand_in(name) / (f"{assignment}.py" if attack.alone else "")),
            course=str(self.course),
            assignment=assignment,
            seed=SEED,
            check_seconds=attack.seconds,
            public_only=attack.public_only,
            **options,
        )

    def honest_job(self) -> Job:
        """The neighbour's."""
        return Job(
            submission=str(self.neighbour),
            course=str(self.course),
            assignment="attention",
            seed=secrets.randbits(32),
        )

    def _hand_in(self, name: str) -> Path:
        assignment = name.split("/")[0]
        self._count += 1
        folder = self._folder / "batch" / f"{self._count}-{Path(name).stem}"
        folder.mkdir()
        shutil.copy(HERE / name, folder / f"{assignment}.py")
        shutil.copy(ROOT / "solutions" / assignment / f"{assignment}.py", folder / "honest.py")
        for helper in ("wire", "seen"):
            shutil.copy(HERE / "support" / f"{helper}.py", folder)
        half = len(self.canary) // 2
        halves = self.canary[:half].encode(), self.canary[half:].encode()
        places = (
            f"COURSE, NEIGHBOUR, FOLDER = {str(self.course)!r}, {str(self.neighbour)!r}, "
            f"{str(self.open_folder)!r}\nTOKEN, SECRET = {self.token!r}, {SECRET!r}\n"
            f"PORT, LIMIT = {self._listener.getsockname()[1]}, {LIMIT_BYTES}\n"
            f"CANARY_HALVES = {halves!r}\n"
        )
        targets = (HERE / "support" / "targets.py").read_text("utf-8")
        (folder / "targets.py").write_text(
            targets.replace("# -- filled in here\n", places), "utf-8"
        )
        return folder

    def harm(self, report: Report | None = None) -> list[str]:
        """Everything that was done; with ``report``, what the attack boasts of or gives away."""
        found = [f"file {path}" for path in self.open_folder.iterdir()]
        if self.neighbour.read_text("utf-8") != self._honest:
            found.append("the neighbour was changed")
        for place in ("/tmp", "/dev/shm", "/var/tmp"):
            found += [str(path) for path in Path(place).glob(f"*{self.token}*")]
        staged = []
        # Not a path's own glob, which raises when others' folders go meanwhile.
        for path in glob.glob(f"{tempfile.gettempdir()}/grader-*/*/staged/targets.py"):
            with contextlib.suppress(OSError):
                staged += [path] if self.token in Path(path).read_text("utf-8") else []
        found += [f"left staged: {path}" for path in staged]
        with contextlib.suppress(BlockingIOError):
            self._listener.accept()[0].close()
            found.append("it called home")
        if report is not None:
            found += re.findall(r"HARM .*", printed(report))
            if self.canary in msgspec.json.encode(report).decode():
                found.append("the canary is in the report")
        return found

    def clear(self) -> None:
        """Take away what was done, so that the next attack finds nothing of it."""
        for path in self.open_folder.iterdir():
            path.unlink()
        self.neighbour.write_text(self._honest, "utf-8")
        for place in ("/tmp", "/dev/shm", "/var/tmp"):
            for path in Path(place).glob(f"*{self.token}*"):
                path.rmdir() if path.is_dir() else path.unlink()

    def close(self) -> None:
        self._listener.close()


def printed(report: Report) -> str:
    """All that was printed, as an instructor's report has it."""
    return "\n".join([report.output.text, *(check.output.text for check in report.checks)])


def _copy_course(to: Path, canary: str) -> None:
    for assignment in ASSIGNMENTS:
        folder = to / "assignments" / assignment
        shutil.copytree(ROOT / "assignments" / assignment, folder)
        described = folder / "assignment.toml"
        text = re.sub(r"\[limits\]\n(\w+ = .*\n)+", "", described.read_text("utf-8"))
        described.write_text(f"{text}\n[limits]{LIMITS}", "utf-8")
    (to / "assignments" / "course.toml").write_text('title = "Attacked"\n')
    private = [*ASSIGNMENTS, "shared"]
    for name in private:
        if (ROOT / "solutions" / name).is_dir():
            shutil.copytree(ROOT / "solutions" / name, to / "solutions" / name)
    hidden = to / "tests" / "hidden"
    hidden.mkdir(parents=True)
    for path in (ROOT / "tests" / "hidden").glob("*.py"):
        if path.name.startswith("support") or path.stem.removeprefix("test_") in ASSIGNMENTS:
            shutil.copy(path, hidden)
    for path in (*hidden.glob("*.py"), *(to / "solutions").rglob("*.toml")):
        path.write_text(f"{path.read_text('utf-8')}\n# {canary}\n", "utf-8")
    for path in (to / "solutions").rglob("*.py"):
        path.write_text(f"{path.read_text('utf-8')}\n# {canary}\n", "utf-8")


def _open_the_way_to(folder: Path) -> None:
    """Let every user through, as far as it is ours to say."""
    for parent in folder.parents:
        with contextlib.suppress(OSError):
            if parent.stat().st_mode & 0o005 != 0o005:
                parent.chmod(0o755)


def adopt_orphans() -> None:
    """Have whatever survives its parents become a child of this process, where it is seen."""
    if ctypes.CDLL(None).prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0):
        raise OSError("this kernel knows no subreaper")


def processes_below(pid: int, *, levels: int = sys.maxsize) -> set[int]:
    """Every process that descends from ``pid``, over so many generations, and has not ended."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with contextlib.suppress(OSError):
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
                if fields[0] != "Z":
                    parents[int(entry.name)] = int(fields[1])
    found: set[int] = set()
    generation = {pid}
    while generation and levels:
        generation = {child for child, its in parents.items() if its in generation} - found
        found |= generation
        levels -= 1
    return found


def lasting(grading: int) -> set[int]:
    """The grading process, and what it keeps: the fork server, and a template an assignment."""
    return {grading} | processes_below(grading, levels=1)
