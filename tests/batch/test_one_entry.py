"""One entry that is amiss costs one student: everybody else is graded on what is theirs."""

from __future__ import annotations

import csv
import errno
import io
import os
import stat
import subprocess
import sys
import zlib
from datetime import UTC, datetime
from pathlib import Path

import pytest

from grader.batch import plan as planning
from grader.batch import running, store
from grader.batch.class_folder import normal
from grader.batch.dates import from_seconds, moment
from grader.batch.plan import make_plan
from grader.course.loading import load_course
from grader.report import safe

from ..fuzz.packing import Member, pack
from .conftest import right, write, wrong

ROOT = Path(__file__).parents[2]
RIGHT = right().encode()
BUG = "This is a bug in the grader, please report it"

# What is amiss with a file in a platform's zip, and what its owner is told of it.
AMISS = {
    "an encrypted file": (Member(b"scale.py", RIGHT, flags=1), "is encrypted"),
    "an unusual method": (Member(b"scale.py", RIGHT, method=12), "an unusual way"),
    "no such method": (Member(b"scale.py", RIGHT, method=98), "an unusual way"),
    "a wrong checksum": (Member(b"scale.py", RIGHT, crc=1), "cannot be unpacked"),
    "a wrong size": (Member(b"scale.py", RIGHT, size=9), "cannot be unpacked"),
    "too large a size": (Member(b"scale.py", RIGHT, size=900), "cannot be unpacked"),
    "too few bytes": (Member(b"scale.py", RIGHT, cut=20), "cannot be unpacked"),
    "a long name": (Member(b"n" * 303 + b".py", RIGHT), "no disk can hold"),
    "a long folder": (Member(b"n" * 303 + b"/scale.py", RIGHT), "no disk can hold"),
    "a long name of two bytes each": (Member("ü".encode() * 150 + b".py", RIGHT), "no disk"),
    "too deep": (Member(b"d/" * 3000 + b"scale.py", RIGHT), "no disk can hold"),
    "too deep, each part long": (Member((b"d" * 200 + b"/") * 30 + b"a.py", RIGHT), "no disk"),
    "out of its folder": (Member(b"../ann/scale.py", RIGHT), "leads out of its folder"),
    "a bomb": (Member(b"scale.py", bytes(64 << 20)), "larger than 1 MiB"),
    "a liar's bomb": (Member(b"scale.py", RIGHT, size=2**32 - 2), "larger than 1 MiB"),
    "a link": (Member(b"scale.py", b"/etc/passwd", mode=stat.S_IFLNK | 0o777), "symbolic link"),
    "a broken zip": (Member(b"work.zip", b"PK nothing"), "not a zip file"),
    "a zip cut off": (Member(b"work.zip", pack([Member(b"a.py", RIGHT)])[:-9]), "not a zip file"),
}
# What is odd, and costs nothing.
ODD = {
    "a name in another alphabet": Member(b"m\xfcller.py", RIGHT),
    "a name that says UTF-8": Member(b"m\xfcller.py", RIGHT, flags=0x800),
    "backslashes": Member(b"lab\\..\\..\\ann\\scale.py", RIGHT),
    "no date": Member(b"scale.py", RIGHT, date=0),
    "a date of nobody's": Member(b"scale.py", RIGHT, date=0xFFFF),
    "a moment of nobody's": Member(b"scale.py", RIGHT, extra=b"UT\5\0\1\xff\xff\xff\xff"),
    "a field that is cut off": Member(b"scale.py", RIGHT, extra=b"\1\0\xff"),
    "a field that is too short": Member(b"scale.py", RIGHT, extra=b"\1\0\4\0aaaa"),
    "control characters": Member(b"\x1b[2J\x07\n.py", RIGHT),
    "a mode of nobody's": Member(b"scale.py", RIGHT, mode=0o7777),
}
AROUND = {
    "folders": lambda name: name.encode(),
    "moodle": lambda name: f"{name}_{zlib.crc32(name.encode())}_assignsubmission_file_".encode(),
    "nbgrader": lambda name: f"submitted/{name}/scale".encode(),
}


@pytest.mark.parametrize("layout", AROUND)
def test_a_platform_s_zip(batch, tmp_path, layout):
    around = AROUND[layout]
    members = [Member(around("ann") + b"/scale.py", RIGHT)]
    for name, one in {**{name: one for name, (one, _) in AMISS.items()}, **ODD}.items():
        members.append(Member(**(vars(one) | {"name": around(name) + b"/" + one.name})))
    for name, second in (("twice", b"scale.py"), ("clash", b"scale.py/x.py")):
        members += [Member(around(name) + b"/" + each, RIGHT) for each in (b"scale.py", second)]
    members.append(Member(around("zoe") + b"/scale.py", wrong().encode()))
    (tmp_path / "class.zip").write_bytes(pack(members))

    done = batch(tmp_path / "class.zip", "--assignment", "scale", "--jobs", 1)

    assert done.exit_code == 0, done.output
    rows = {row["student"]: (row["scale"], row["status"]) for row in batch.grades}
    assert rows.pop("ann") == ("6", "graded")
    assert rows.pop("zoe") == ("0", "graded")
    for name in ODD:
        assert rows.pop(name) == ("6", "graded"), name
    told = AMISS | {"twice": (None, "occurs twice"), "clash": (None, "name of a folder")}
    assert set(rows) == set(told)
    assert set(rows.values()) == {("", "not-gradable")}
    said = {one["student"]: one["message"] for one in batch.summary["not_gradable"]}
    for name, (_, words) in told.items():
        assert words in said[name], (name, said[name])


@pytest.mark.parametrize("suffix", ["", ".zip"], ids=["of files", "of zips"])
def test_files_beside_each_other(batch, tmp_path, suffix):
    """Also those whose names no disk holds, or that are empty, are somebody's."""

    def one(name: bytes, data: bytes, **lies: object) -> Member:
        return Member(name + (b".zip" if suffix else b".py"), data, **lies)

    packed = pack([Member(b"scale.py", RIGHT)]) if suffix else RIGHT
    members = [one(b"ann", packed), one(b"bob", packed), one(b"cem", packed, crc=7)]
    members += [one(b"dee" * 101, packed), one(b"eve", packed, flags=1), one(b"fay\xfc", packed)]
    (tmp_path / "class.zip").write_bytes(pack(members))
    done = batch(tmp_path / "class.zip", "--assignment", "scale", "--jobs", 1)
    assert done.exit_code == 0, done.output
    rows = {row["student"][:3]: (row["scale"], row["status"]) for row in batch.grades}
    assert rows == {
        **dict.fromkeys(("ann", "bob", "fay"), ("6", "graded")),
        **dict.fromkeys(("cem", "dee", "eve"), ("", "not-gradable")),
    }


def test_what_cannot_be_read_is_for_what_the_class_is_for(batch, tmp_path):
    members = [Member(b"%s/scale.py" % name, RIGHT) for name in (b"ann", b"bob")]
    members += [Member(b"cem/a.py", RIGHT, crc=1), Member(b"dee/work.zip", b"PK nothing")]
    members += [Member(b"eve/", b"", method=0), Member(b"fay/notes.py", b"x = 1\n")]
    (tmp_path / "class.zip").write_bytes(pack(members))
    done = batch(tmp_path / "class.zip", "--jobs", 1)
    assert done.exit_code == 0, done.output
    assert {row["student"]: row["status"].split(" ")[-1] for row in batch.grades} == {
        **dict.fromkeys(("ann", "bob"), "graded"),
        **dict.fromkeys(("cem", "dee"), "not-gradable"),
        "eve": "missing",
        "fay": "not-recognised",
    }


def test_a_zip_that_unpacks_large(tmp_path, monkeypatch):
    """What is left out where it is too much for a disk is the largest, of whoever that is."""
    from grader.batch import unpacking

    monkeypatch.setattr(unpacking, "MAX_UNPACKED_BYTES", 3 << 20)
    members = [Member(b"eve/%d.ipynb" % number, bytes(1 << 20)) for number in range(9)]
    members += [Member(b"%d/scale.py" % number, RIGHT) for number in range(9)]
    members += [Member(b"eve/data.csv", bytes(9 << 20)), Member(b"eve/big.txt", bytes(9 << 20))]
    (tmp_path / "class.zip").write_bytes(pack(members))
    problems = unpacking.unpack(tmp_path / "class.zip", tmp_path / "to").problems
    assert {path.parent.name for path in problems} == {"eve"}
    assert len(problems) == 7
    sizes = [path.stat().st_size for path in (tmp_path / "to").rglob("*") if path.is_file()]
    assert sum(sizes) <= 3 << 20


NAMES = {
    b"m\xfcller": r"m\xfcller",
    b"\xff\xfe": r"\xff\xfe",
    b"a\xed\xa0\x80": r"a\xed\xa0\x80",
    "José".encode("latin-1"): r"Jos\xe9",
    "日本".encode("euc-jp"): r"\xc6\xfc\xcb\xdc",
    b"\x1b[2J": "\x1b[2J",
    b"back\\slash": "back\\slash",
    b"x" * 255: "x" * 255,
    b"c \x00"[:1]: "c",
}


@pytest.fixture
def odd_names(tmp_path) -> Path:
    """A class in which students are called so, and somebody has a file for a folder."""
    folder = write(tmp_path / "in", {"ann/scale.py": right(), "zoe/scale.py": wrong()})
    for name in NAMES:
        place = os.path.join(os.fsencode(folder), name)
        try:
            os.mkdir(place)
        except OSError:
            pytest.skip("the file system has no such names")
        with open(os.path.join(place, b"scale.py"), "wb") as file:
            file.write(RIGHT)
        with open(os.path.join(place, b"\xe9.py"), "wb") as file:
            file.write(b"")
    return folder


def check_odd_names(output: Path) -> None:
    for path in output.rglob("*"):
        path.name.encode()
        if path.is_file() and path.suffix in (".json", ".csv", ".html", ".jsonl"):
            path.read_text("utf-8")
    rows = csv.reader(io.StringIO((output / "grades.csv").read_text("utf-8")))
    found = {row[0]: row[1] for row in list(rows)[1:]}
    shown = {safe.cell(normal(name)): "6" for name in NAMES.values()}
    assert found == {"ann": "6", "zoe": "0", **shown}


def test_names_that_are_not_utf8(batch, odd_names, tmp_path):
    done = batch(odd_names, "--jobs", 1)
    assert done.exit_code == 0, done.output
    check_odd_names(batch.output)
    assert r"m\xfcller: scale 6/6" in done.stderr
    assert all(row["status"] == "graded" for row in batch.grades)
    again = batch(odd_names, "--jobs", 1)
    assert len(batch.graded) == 0, again.output


def test_names_that_are_not_utf8_without_a_locale(course, odd_names, tmp_path):
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "LC_ALL": "C"}
    words = ["batch", os.fsencode(odd_names), "--course", course, "--output", "graded"]
    for command in ([*words, "--jobs", "1"], ["report", "graded"]):
        done = subprocess.run(
            [sys.executable, "-m", "grader.cli", *command],
            cwd=tmp_path,
            env=environment,
            capture_output=True,
        )
        assert done.returncode == 0, done.stderr
        (done.stdout + done.stderr).decode("utf-8")
    check_odd_names(tmp_path / "graded")
    assert r"m\xfcller" in (tmp_path / "graded" / "class.html").read_text("utf-8")


@pytest.mark.parametrize(
    ("written", "name"),
    [
        (r"(Eve) \\UFFFFFFFF", r"(Eve) \UFFFFFFFF"),
        (r"\U0001F600 \x41\u00e9", "\U0001f600 Aé"),
        (r"\x22\U00000022\"", '"""'),
        (r"\\\x5c", "\\\\"),
        # What stands for no character: nobody can be called so, and nobody is harmed.
        *((text, None) for text in (r"\UFFFFFFFF", r"\U00110000", r"\U0000D800", r"\ud800x")),
        *((text, None) for text in (r"\ud83d\ude00", r"\q\xZZ\u12", r"\0\a\e", r"a\x0")),
    ],
)
def test_escapes_in_metadata(course, tmp_path, written, name):
    said = f'submission_1:\n  :submitters:\n  - :name: "{written}"\n'
    said += "submission_2:\n  :submitters:\n  - :name: Bob\n"
    said += f"submission_{'9' * 5000}:\n  :submitters:\n  - :name: Eve\n"
    folder = write(tmp_path / "in", {"submission_metadata.yml": said})
    write(folder, dict.fromkeys(("submission_1/scale.py", "submission_2/scale.py"), right()))
    (tmp_path / "scratch").mkdir()
    (eve, bob) = make_plan([folder], load_course(course), tmp_path / "scratch").tasks
    assert bob.students == ["Bob"]
    assert eve.students[0].encode()
    assert name is None or eve.students == [name]


@pytest.mark.parametrize(
    "text",
    [
        *("0000-01-01 00:00:00", "9999-99-99 00:00:00", "99999-01-01 00:00:00", "1e18", ""),
        *("2026-01-01 00:00:00 Europe", "2026-01-01 00:00:00 ../../etc/passwd"),
        *("2026-01-01 00:00:00 +99:59", "2026-01-01 00:00:00 " + "x" * 300),
        *("2026-01-01 00:00:00 \udcff", "2026-01-01 00:00:00 a\0b", "2026-01-01 25:61:61 Z"),
    ],
)
def test_dates_that_there_are_not(text):
    assert moment(text) is None


@pytest.mark.parametrize("seconds", [1e18, -1e18, 1e300, float("inf"), float("nan"), 2**63])
def test_moments_that_no_calendar_has(seconds):
    assert from_seconds(seconds) is None


@pytest.mark.parametrize("seconds", [-(2**31), -1, 2**33])
def test_dates_of_files_that_are_far_away(batch, course, tmp_path, seconds):
    folder = write(tmp_path / "in", {"ann.py": right(), "bob.py": right()})
    os.utime(folder / "bob.py", (seconds, seconds))
    (course / "assignments/course.toml").write_text(
        'title = "Toys"\norder = ["scale", "shift"]\n[late]\npenalty_percent = 10\n'
        "[late.due]\nscale = 2099-03-01T23:59:00+01:00\n"
    )
    try:
        assert batch(folder, "--jobs", 1).exit_code == 0
    finally:
        (course / "assignments/course.toml").write_text(
            'title = "Toys"\norder = ["scale", "shift"]\n'
        )
    rows = {row["student"]: row["status"] for row in batch.grades}
    assert rows["ann"] == "graded"
    assert ("late" in rows["bob"]) == (seconds > datetime(2099, 3, 1, tzinfo=UTC).timestamp())


def raising(real, error: Exception, place: int = 0):
    """``real``, but for what is handed in by eve."""

    def replaced(*given, **more):
        if "eve" in str(given[place]):
            raise error
        return real(*given, **more)

    return replaced


@pytest.mark.parametrize(
    ("where", "name", "place", "error"),
    [
        (planning, "_laid_out", 0, KeyError()),
        (planning, "assignments_of", 0, UnicodeEncodeError("utf-8", "\udcff", 0, 1, "no")),
        (store, "fingerprint", 0, RuntimeError("at \x1b[2J\n::error::")),
        (running, "with_lateness", 0, RecursionError("too deep")),
        (running, "result_of", 0, MemoryError()),
        (store.Store, "save", 1, OSError(errno.ENAMETOOLONG, "File name too long")),
    ],
    ids=lambda one: one if isinstance(one, str) else "",
)
def test_a_bug_of_ours_costs_one(batch, tmp_path, monkeypatch, where, name, place, error):
    folder = write(tmp_path / "in", dict.fromkeys(("ann.py", "eve.py", "zoe.py"), right()))
    monkeypatch.setattr(where, name, raising(getattr(where, name), error, place))
    done = batch(folder, "--jobs", 1)
    assert done.exit_code == 0, done.output
    assert {row["student"]: (row["scale"], row["status"]) for row in batch.grades} == {
        "ann": ("6", "graded"),
        "eve": ("", "grading-failed"),
        "zoe": ("6", "graded"),
    }
    (failed,) = batch.summary["grading_failed"]
    assert failed["message"].startswith(BUG)
    assert type(error).__name__ in failed["message"]
    assert "\x1b" not in done.output
    assert BUG in done.stdout


def test_a_bug_while_grading_leaves_the_seat_usable(batch, tmp_path, monkeypatch):
    from grader.batch.local import LocalGrader

    real, closed = LocalGrader.grade, []

    def grade(self, job, **options):
        if b"eve" in job.submission:
            raise ValueError("half of a frame")
        return real(self, job, **options)

    monkeypatch.setattr(LocalGrader, "grade", grade)
    monkeypatch.setattr(LocalGrader, "close", lambda self: closed.append(self))
    folder = write(tmp_path / "in", dict.fromkeys(("ann.py", "eve.py", "zoe.py"), right()))
    assert batch(folder, "--jobs", 1).exit_code == 0
    assert [row["total"] for row in batch.grades] == ["6", "", "6"]
    assert len(closed) == 2


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EMFILE])
def test_what_is_wrong_with_the_machine_ends_the_batch(batch, tmp_path, monkeypatch, code):
    folder = write(tmp_path / "in", dict.fromkeys(("ann.py", "eve.py"), right()))
    failing = raising(store.Store.save, OSError(code, os.strerror(code)), 1)
    monkeypatch.setattr(store.Store, "save", failing)
    done = batch(folder, "--jobs", 1)
    assert isinstance(done.exception, OSError)
    assert not any(row["status"] == "grading-failed" for row in batch.grades)


ordinary = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root reads everything"
)


@ordinary
@pytest.mark.parametrize(
    "pattern", ["{}/scale.py", "scale-{}/scale.py", "submitted/{}/scale/scale.py", "{}.py"]
)
def test_what_may_not_be_read_is_planned(course, tmp_path, pattern):
    names = ("ann", "bob", "cem", "zoe")
    folder = write(tmp_path / "in", dict.fromkeys(map(pattern.format, names), right()))
    if "-" in pattern:
        write(folder, {f"scale-{name}/.git/HEAD": "" for name in names})
    closed = [folder / pattern.format("bob"), folder / pattern.format("cem")]
    closed[0] = closed[0].parent if "/" in pattern else closed[0]
    (tmp_path / "scratch").mkdir()
    for path in closed:
        path.chmod(0)
    try:
        plan = make_plan([folder], load_course(course), tmp_path / "scratch")
    finally:
        closed[0].chmod(0o755)
    assert {name for task in plan.tasks for name in task.students} == set(names)
    assert {task.assignment for task in plan.tasks} == {"scale"}
    assert not any(task.bug for task in plan.tasks)


@ordinary
def test_what_may_not_be_read(batch, tmp_path):
    names = ("ann/scale.py", "bob/scale.py", "cem/scale.py", "zoe/scale.py")
    folder = write(tmp_path / "in", dict.fromkeys(names, right()))
    (folder / "bob").chmod(0)
    (folder / "cem/scale.py").chmod(0)
    try:
        done = batch(folder, "--jobs", 1)
    finally:
        (folder / "bob").chmod(0o755)
    assert done.exit_code == 0, done.output
    assert [row["scale"] for row in batch.grades] == ["6", "", "", "6"]
    assert "not-gradable" in batch.grades[1]["status"]
