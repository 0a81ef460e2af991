"""Random classes as platforms lay them out: honest students, and what others hand in beside them.

The hostile ones choose what a student can: the names and contents of their files, and where the
platform lets them, what they are called. What only a platform writes is as it should be.
"""

from __future__ import annotations

import io
import json
import os
import shutil
import stat
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from .packing import Member, pack

ANSWER = "# {0}\ndef scale(x):\n    return x * {1} + 1\n"
HONEST = [
    *("ann", "bob", "cem", "dee", "Änne Groß", "José García", "李小龙", "O'Brien Mary"),
    *("van der Berg", "eve-lyn", "x", "fay.2", "gil (Gil)", "Ng"),
]
WORD = ["scale.py", "Scale.PY", "scale.ipynb", "helper.py", "notes.txt", "data.csv", "x", ".py"]
SUFFIXES = (b".py", b".ipynb", b".zip")
LONG = b"n" * 303
BYTES = [
    *(b"m\xfcller", b"\xff\xfe", b"\x80", b"a\xc3", b"\xed\xa0\x80", "Änne".encode("latin-1")),
    *(b"\x1b[2J", b"a\nb", b"a\tb", b"\x7f", b"\xe2\x80\xae", b"::error::x", b"##[group]"),
    *(b"...", b" x ", b"-rf", b"~", b"%00", b"con", b"a" * 255, b"a" * 240, b"'\"`$(x)", b"*?[]"),
    *("A\u030a".encode(), "Å".encode(), "Å".encode(), "ﬁ".encode(), "ẞ".encode()),
    *(b"\\UFFFFFFFF", b"\\ud800", b"&#0;", b"<img src=x>", b"=1+1", b"{student}", b"(?P<a>"),
]
IN_ZIPS = [
    *(LONG, b"d/" * 300 + b"a", b"d/" * 2500 + b"a", b"a\\..\\..\\ann", b"..\\..\\ann", b"C:\\x"),
    *(b"../../x", b"../ann", b"/etc/x", b"a//b", b"./a/./b", b"a\0b", b"a/../../b"),
]


@dataclass
class Entry:
    """A file of a student's, below what the platform names after them."""

    name: bytes
    member: Member = field(default_factory=lambda: Member(b""))
    """What it is in a zip; its data is what it is in a folder."""
    kind: str = "file"
    """Or ``link``, ``pipe``, ``folder``, ``closed``."""
    changed: float = 1.7e9


@dataclass
class Student:
    called: bytes
    entries: list[Entry]
    honest: str = ""
    """The text of an honest student's answer."""
    points: int = 6


def honest(random: Random, number: int, name: str) -> Student:
    right = random.random() < 0.5
    text = ANSWER.format(f"the answer of number {number}", 3 if right else 2)
    entries = [Entry(b"scale.py", Member(b"", text.encode()))]
    return Student(name.encode(), entries, text, 6 if right else 0)


def hostile(random: Random, number: int, *, zipped: bool) -> Student:
    called = b"h%d" % number
    if random.random() < 0.6:
        called += random.choice(BYTES)
    return Student(called, [entry(random, zipped) for _ in range(random.randrange(5))])


def entry(random: Random, zipped: bool) -> Entry:
    name = random.choice(WORD).encode()
    if random.random() < 0.6:
        odd = random.choice(BYTES + (IN_ZIPS if zipped else []))
        name = odd + random.choice((b".py", b".ipynb", b".zip", b"/" + name, b"/scale.py", b""))
    if random.random() < 0.2:
        name = random.choice((b"scale.py/", b"a/", b".git/", b"x.zip/", b"scale/")) + name
    text = ANSWER.format("hostile", random.randrange(9)).encode()
    data = random.choice(CONTENTS)(random, text)
    member = Member(b"", data)
    if random.random() < 0.4:
        random.choice(LIES)(random, member)
    kind = random.choices(("file", "link", "pipe", "folder", "closed"), (20, 1, 1, 1, 1))[0]
    if kind == "link":
        member.mode = stat.S_IFLNK | 0o777
    changed = random.choice((1.7e9, 1.7e9, 0, -1, -(2**31), 2**31, 2**33, 1e11, 1e18))
    return Entry(name, member, kind, changed)


def _zip(random: Random, text: bytes) -> bytes:
    names = [random.choice([*WORD, "a/scale.py", "../x.py"]).encode() for _ in range(3)]
    members = [Member(name, text) for name in names]
    random.choice(LIES)(random, random.choice(members))
    return pack(members)


def _in_itself(random: Random, text: bytes) -> bytes:
    data = text
    for depth in range(5):
        data = pack([Member(b"%d.zip" % depth if depth else b"scale.py", data, method=0)])
    return data


def _cut_off(random: Random, text: bytes) -> bytes:
    data = _zip(random, text)
    return data[: random.randrange(len(data))]


def _many(random: Random, text: bytes) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for number in range(200):
            archive.writestr(f"{number}.py", b"")
    return data.getvalue()


def _notebook(random: Random, text: bytes) -> bytes:
    cell = {"cell_type": "code", "source": text.decode(), "metadata": {}, "outputs": []}
    return json.dumps(
        {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}
    ).encode()


CONTENTS: list[Callable[[Random, bytes], bytes]] = [
    lambda _, text: text,
    lambda _, text: text,
    lambda _, text: b"",
    lambda _, text: b"\0\xff\xfe" * 50,
    lambda _, text: b"# coding: utf-7\n" + text,
    lambda _, text: text.decode().encode("utf-16"),
    lambda _, text: b"(" * 5_000,
    lambda _, text: bytes(3 << 20),
    lambda _, text: b'{"cells": [{"source": "\\ud800"}]}',
    lambda _, text: b"[" * 100_000,
    lambda random, _: random.randbytes(200),
    lambda _, text: b"PK\5\6" + bytes(18),
    _notebook,
    _zip,
    _in_itself,
    _cut_off,
    _many,
]


def _lie(**values: object) -> Callable[[Random, Member], None]:
    def tell(random: Random, member: Member) -> None:
        for name, value in values.items():
            setattr(member, name, value)

    return tell


LIES = [
    *(_lie(flags=0x1), _lie(flags=0x800), _lie(flags=0xFFFF), _lie(method=12), _lie(method=99)),
    *(_lie(crc=0), _lie(size=0), _lie(size=1), _lie(size=2**32 - 2), _lie(size=2**32 - 1)),
    *(_lie(cut=9), _lie(mode=0o120777), _lie(mode=0o010644), _lie(mode=0xFFFF)),
    *(_lie(date=0), _lie(date=0xFFFF), _lie(extra=b"\1\0\xff"), _lie(extra=b"\1\0\x04\0aaaa")),
    *(_lie(extra=b"UT\5\0\1\xff\xff\xff\xff"), _lie(extra=b"UT\xff\xff\1"), _lie(method=0)),
]


# Layouts: paths of files, by student; and what the platform itself writes.

Paths = list[tuple[bytes, Entry]]


def _flat(entry: Entry, before: bytes) -> tuple[bytes, Entry]:
    """A platform that puts files beside each other has names without folders, and no folders."""
    kind = "file" if entry.kind == "folder" else entry.kind
    return before + entry.name.replace(b"/", b"_")[-120:], replace(entry, kind=kind)


def canvas(students: list[Student]) -> Paths:
    return [
        _flat(entry, b"%s_%d_%d_" % (_plain(student, at), 100 + at, 900 + at))
        for at, student in enumerate(students)
        for entry in student.entries
    ]


def moodle(students: list[Student]) -> Paths:
    return [
        (b"%s_%d_assignsubmission_file_/%s" % (_one_name(student), 100 + at, entry.name), entry)
        for at, student in enumerate(students)
        for entry in student.entries
    ]


def moodle_files(students: list[Student]) -> Paths:
    return [
        _flat(entry, b"%s_%d_assignsubmission_file_" % (_one_name(student)[:80], 100 + at))
        for at, student in enumerate(students)
        for entry in student.entries
    ]


def blackboard(students: list[Student]) -> Paths:
    paths = []
    for at, student in enumerate(students):
        stem = b"Scale_%s_attempt_2026-10-01-10-00-%02d" % (_plain(student, at), at)
        said = b"Name: %s (%s)\n" % (student.called.split(b"\n")[0], _plain(student, at))
        paths.append((stem + b".txt", Entry(b"", Member(b"", said))))
        paths += [_flat(entry, stem + b"_") for entry in student.entries]
    return paths


def gradescope(students: list[Student]) -> Paths:
    said, paths = "---\n", []
    for at, student in enumerate(students):
        name = json.dumps(student.called.decode("utf-8", "surrogateescape"))
        name = name.replace("\\\\U", "\\U").replace("\\\\u", "\\u") if at % 2 else name
        date = ["2026-10-01 10:00:00.0 Z", "0000-00-00 00:00:00 Z", "9999-12-31 23:59:59 -1200"]
        date += ["0001-01-01 00:00:00 +1400", "1e18", "2026-10-01 10:00:00 Europe", "'"]
        said += f"submission_{at}:\n  :submitters:\n  - :name: {name}\n    :sid: s{at}\n"
        said += f"  :created_at: {date[0 if student.honest else at % 7]}\n"
        paths += [(b"submission_%d/%s" % (at, entry.name), entry) for entry in student.entries]
    return [*paths, (b"submission_metadata.yml", Entry(b"", Member(b"", said.encode())))]


def classroom(students: list[Student]) -> Paths:
    head = Entry(b"", Member(b"", b"ref: refs/heads/main\n"))
    paths = []
    for at, student in enumerate(students):
        folder = b"scale-%s/" % _plain(student, at)
        paths.append((folder + b".git/HEAD", head))
        paths += [(folder + entry.name, entry) for entry in student.entries]
    return paths


def nbgrader(students: list[Student]) -> Paths:
    paths = []
    for student in students:
        folder = b"submitted/%s/scale/" % _one_name(student)
        stamp = b"2026-10-01 10:00:00 UTC" if student.honest else b"99999-99-99 1e18 \xff\n" * 3
        paths.append((folder + b"timestamp.txt", Entry(b"", Member(b"", stamp))))
        paths += [(folder + entry.name, entry) for entry in student.entries]
    return paths


def folders(students: list[Student]) -> Paths:
    return [
        (_one_name(student) + b"/" + entry.name, entry)
        for student in students
        for entry in student.entries
    ]


def files(students: list[Student]) -> Paths:
    return [
        _flat(replace(entry, name=os.path.splitext(entry.name)[1]), _one_name(student)[:120])
        for student in students
        for entry in student.entries[:1]
        if os.path.splitext(entry.name)[1] in (b".py", b".ipynb", b".zip")
    ]


LAYOUTS: dict[str, Callable[[list[Student]], Paths]] = {
    one.__name__: one
    for one in (
        *(canvas, moodle, moodle_files, blackboard, gradescope),
        *(classroom, nbgrader, folders, files),
    )
}


def _plain(student: Student, at: int) -> bytes:
    """A login: what platforms make of names."""
    kept = bytes(byte for byte in student.called.lower() if chr(byte).isalnum() and byte < 128)
    return kept[:20] + b"%d" % at


def _one_name(student: Student) -> bytes:
    """The name as that of a file, which students choose where they can."""
    return student.called.replace(b"/", b"_")[:160].strip(b"\n") or b"nameless"


def label(layout: str, at: int, student: Student) -> str:
    """What an honest student is called where their grade stands."""
    if layout in ("canvas", "classroom"):
        return _plain(student, at).decode()
    return student.called.decode()


def is_of(student: Student, path: bytes) -> bool:
    """Whether a path that may hold code begins with a name that begins as the student's does."""
    first, *inside = path.split(b"\0")[0].removeprefix(b"submitted/").split(b"/")
    mark = student.called[:2]
    begins = (mark, b"scale-" + mark, b"Scale_" + mark)
    return first.startswith(begins) and (bool(inside) or first.lower().endswith(SUFFIXES))


def write(root: Path, paths: Paths, *, zipped: bool) -> Path:
    """The class as a folder, without what no disk holds; or as a zip."""
    if zipped:
        archive = root / "class.zip"
        members = []
        for path, entry in paths:
            name = path.removesuffix(b"/") + (b"/" if entry.kind == "folder" else b"")
            members.append(Member(**(vars(entry.member) | {"name": name})))
        archive.write_bytes(pack(members))
        return archive
    folder = root / "class"
    folder.mkdir()
    for path, entry in paths:
        place = os.path.join(os.fsencode(folder), path)
        try:
            os.makedirs(os.path.dirname(place), exist_ok=True)
            _write_one(place, entry)
        except (OSError, ValueError):
            continue
    return folder


def _write_one(place: bytes, entry: Entry) -> None:
    if entry.kind == "link":
        os.symlink("/etc/passwd", place)
    elif entry.kind == "pipe":
        os.mkfifo(place)
    elif entry.kind == "folder":
        os.mkdir(place)
    else:
        with open(place, "xb") as file:
            file.write(entry.member.data)
        os.utime(place, (entry.changed,) * 2)
        if entry.kind == "closed":
            os.chmod(place, 0)


def remove(root: Path) -> None:
    shutil.rmtree(os.fsencode(root), ignore_errors=True)
