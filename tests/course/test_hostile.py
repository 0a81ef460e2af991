"""Submissions that are made to be read, followed, waited for or unpacked where they must not be."""

from __future__ import annotations

import contextlib
import io
import os
import py_compile
import socket
import struct
import tracemalloc
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.course.model import Assignment
from grader.course.submission import NotGradable, read_submission, stage
from grader.course.tree import Folder

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs links, pipes and devices")

ANSWER = "def attend(query, key, value, mask=None):\n    return query, key\n"
SECRET = "SECRET = 'of the course'\n"


def put(folder: Path, name: str, text: str | bytes = ANSWER) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def refusal(path: Path, assignment: Assignment) -> str:
    with pytest.raises(NotGradable) as caught:
        read_submission(path, assignment)
    text = str(caught.value)
    assert text.isprintable()
    assert text.endswith((".", ")"))
    return text


def staged(path: Path, assignment: Assignment, to: Path) -> dict[str, str]:
    """What is staged of a submission, by name, from the listing of the folder."""
    to.mkdir()
    stage(read_submission(path, assignment), to)
    files = [place for place in to.rglob("*") if not place.is_dir()]
    assert all(place.is_file() and not place.is_symlink() for place in files)
    return {str(place.relative_to(to)): place.read_text("utf-8") for place in files}


# What is no regular file


@pytest.fixture
def bound(handed_in: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A socket's own file, named like an answer."""
    monkeypatch.chdir(handed_in)  # a socket's path must be short
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("attention.py")
        yield handed_in / "attention.py"


@pytest.mark.parametrize("whole", [True, False])
def test_a_socket(bound: Path, attention: Assignment, whole: bool) -> None:
    assert "not a regular file" in refusal(bound.parent if whole else bound, attention)


@pytest.mark.parametrize("device", ["/dev/zero", "/dev/null", "/dev/tty"])
def test_a_device(attention: Assignment, device: str) -> None:
    assert "not a regular file" in refusal(Path(device), attention)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
def test_a_device_named_like_an_answer(handed_in: Path, attention: Assignment) -> None:
    try:
        os.mknod(handed_in / "attention.py", 0o20666, os.makedev(1, 5))
    except OSError:
        pytest.skip("devices cannot be made here")
    assert "not a regular file" in refusal(handed_in / "attention.py", attention)
    assert "not a regular file" in refusal(handed_in, attention)


@pytest.mark.parametrize("kind", ["pipe", "device", "loop"])
def test_a_helper_that_is_none(
    handed_in: Path, tmp_path: Path, attention: Assignment, kind
) -> None:
    put(handed_in, "attention.py", "import core\n" + ANSWER)
    core = handed_in / "core.py"
    if kind == "pipe":
        os.mkfifo(core)
    else:
        core.symlink_to("/dev/zero" if kind == "device" else core)
    (handed_in / "again").symlink_to(handed_in)
    assert list(staged(handed_in, attention, tmp_path / "staged")) == ["attention.py"]


def test_a_pipe_for_a_zip(handed_in: Path, attention: Assignment) -> None:
    os.mkfifo(handed_in / "answer.zip")
    assert "not a regular file" in refusal(handed_in / "answer.zip", attention)


def test_a_file_of_holes_takes_no_memory(handed_in: Path, attention: Assignment) -> None:
    paths = [handed_in / "attention.py", handed_in / "answer.zip", handed_in / "a.ipynb"]
    tracemalloc.start()
    try:
        for path in paths:
            with path.open("wb") as stream:
                stream.truncate(1 << 40)
            assert "is larger than" in refusal(path, attention)
        assert tracemalloc.get_traced_memory()[1] < 64 << 20
    finally:
        tracemalloc.stop()


# What is exchanged between the look and the reading


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    return put(tmp_path / "solutions", "core.py", SECRET)


def test_a_file_exchanged_for_a_link(handed_in: Path, secret: Path) -> None:
    core = put(handed_in, "core.py")
    tree = Folder(handed_in)
    core.unlink()
    core.symlink_to(secret)
    with pytest.raises(NotGradable, match="symbolic link"):
        tree.read("core.py", limit=1 << 20)


def test_a_folder_exchanged_for_a_link(handed_in: Path, secret: Path) -> None:
    put(handed_in, "a/b/core.py")
    tree = Folder(handed_in)
    (handed_in / "a").rename(handed_in / "old")
    (handed_in / "a").mkdir()
    (handed_in / "a" / "b").symlink_to(secret.parent)
    with pytest.raises(NotGradable, match="cannot be read"):
        tree.read("a/b/core.py", limit=1 << 20)


def test_a_file_exchanged_for_a_pipe_after_the_last_look(
    handed_in: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = put(handed_in, "core.py")
    tree = Folder(handed_in)
    looked = core.lstat()
    core.unlink()
    os.mkfifo(core)
    monkeypatch.setattr(Path, "lstat", lambda _: looked)
    with pytest.raises(NotGradable, match="not a regular file"):
        tree.read("core.py", limit=1 << 20)


def test_a_file_exchanged_for_a_link_after_the_last_look(
    handed_in: Path, secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    core = put(handed_in, "core.py")
    tree = Folder(handed_in)
    looked = core.lstat()
    core.unlink()
    core.symlink_to(secret)
    monkeypatch.setattr(Path, "lstat", lambda _: looked)
    with pytest.raises(NotGradable, match="cannot be read"):
        tree.read("core.py", limit=1 << 20)


def test_a_file_that_vanishes(handed_in: Path) -> None:
    core = put(handed_in, "core.py")
    tree = Folder(handed_in)
    core.unlink()
    with pytest.raises(NotGradable, match="There is no file"):
        tree.read("core.py", limit=1 << 20)


# What Python would run instead of the source


@pytest.mark.parametrize("packed", [False, True])
def test_compiled_code_is_never_staged(
    handed_in: Path, tmp_path: Path, attention: Assignment, packed: bool
) -> None:
    put(handed_in, "attention.py", "import helper\n" + ANSWER)
    put(handed_in, "helper.py", "x = 1\n")
    poison = put(tmp_path, "poison.py", "x = 2\n")
    for name in ("helper", "attention"):
        for place in (f"__pycache__/{name}.cpython-311.pyc", f"{name}.pyc", f"{name}.so"):
            path = put(handed_in, place, b"")
            py_compile.compile(
                str(poison),
                str(path),
                invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
            )
    put(handed_in, "__pycache__/helper.py", "x = 3\n")
    put(handed_in, "sitecustomize.py", "x = 4\n")
    path = handed_in
    if packed:
        path = tmp_path / "answer.zip"
        with zipfile.ZipFile(path, "w") as archive:
            for file in sorted(handed_in.rglob("*")):
                archive.write(file, file.relative_to(handed_in))
    files = staged(path, attention, tmp_path / "staged")
    assert files == {"attention.py": "import helper\n" + ANSWER, "helper.py": "x = 1\n"}


# Names


def zipped(path: Path, *members: tuple[str | zipfile.ZipInfo, bytes | str]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, data in members:
            archive.writestr(member, data)
    return path


def renamed(path: Path, old: bytes, new: bytes) -> Path:
    assert len(old) == len(new)
    path.write_bytes(path.read_bytes().replace(old, new))
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_names_that_differ_in_case_alone(
    handed_in: Path, tmp_path: Path, attention: Assignment, packed: bool
) -> None:
    members = {
        "attention.py": "import core\n" + ANSWER,
        "Attention.py": "x = 1\n",
        "core.py": "x = 2\n",
        "CORE.py": "x = 3\n",
        "Pkg/a.py": "x = 4\n",
        "pkg/A.py": "x = 5\n",
    }
    for name, text in members.items():
        put(handed_in, name, text)
    if len(os.listdir(handed_in)) < 5:
        pytest.skip("the file system knows no case")
    path = zipped(tmp_path / "a.zip", *members.items()) if packed else handed_in
    files = staged(path, attention, tmp_path / "staged")
    assert len({name.casefold() for name in files}) == len(files) == 3
    assert (files["attention.py"], files["core.py"]) == (members["attention.py"], "x = 2\n")
    notes = " ".join(read_submission(path, attention).notes)
    assert "'Attention.py' (another file has its name)" in notes
    assert "'CORE.py' (another file has its name)" in notes


def test_names_of_a_folder_that_are_not_utf8(
    handed_in: Path, tmp_path: Path, attention: Assignment
) -> None:
    put(handed_in, "attention.py")
    for name in (b"c\xf6re.py", b"\xff\xfe.py", b"a\nb.py", b"\x1b[2J.ipynb"):
        try:
            Path(os.fsdecode(os.path.join(os.fsencode(handed_in), name))).write_bytes(b"x = 1\n")
        except OSError:
            pytest.skip("the file system has no such names")
    assert list(staged(handed_in, attention, tmp_path / "staged")) == ["attention.py"]


@pytest.mark.parametrize("name", [b"c\xff\xfe.py", b"m\xfc\x80.zip", b"a\xff\xff/core.py"])
def test_a_name_of_a_zip_that_says_utf8_and_is_not(
    tmp_path: Path, attention: Assignment, name: bytes
) -> None:
    stand_in = name.decode("latin-1").replace("\xff\xfe", "\xe9").replace("\xfc\x80", "\xe9")
    stand_in = stand_in.replace("\xff\xff", "\xe9")
    path = zipped(tmp_path / "a.zip", ("attention.py", ANSWER), (stand_in, "x = 1\n"))
    renamed(path, stand_in.encode(), name)
    assert list(staged(path, attention, tmp_path / "staged")) == ["attention.py"]
    inside = zipped(tmp_path / "b.zip", (stand_in.replace(".zip", ".py"), ANSWER))
    renamed(inside, stand_in.replace(".zip", ".py").encode(), name.replace(b".zip", b".py"))
    found = read_submission(inside, attention).main.name
    assert found.isprintable()
    assert "\\xf" in found


def test_names_of_a_zip_in_the_alphabet_of_dos(tmp_path: Path, attention: Assignment) -> None:
    path = zipped(tmp_path / "a.zip", ("attention.py", ANSWER), ("cXre.py", "x = 1\n"))
    files = staged(renamed(path, b"cXre", b"c\x94re"), attention, tmp_path / "staged")
    assert sorted(files) == ["attention.py", "c\xf6re.py"]


@pytest.mark.parametrize(
    "name", ["a\x1b[2J.py", "a\u202egpj.py", "a\n::error::b.py", "x" * 3000 + ".py", "\u2028.py"]
)
def test_names_of_a_zip_that_are_not_to_be_shown(
    tmp_path: Path, attention: Assignment, name: str
) -> None:
    path = zipped(tmp_path / "a.zip", ("one.py", ANSWER), (name, ANSWER))
    assert len(refusal(path, attention)) < 600


@pytest.mark.parametrize(
    "name",
    [
        "\\\\server\\share\\a.py",
        "\\a.py",
        "c:a.py",
        "..\\a.py",
        "a/..",
        "//a.py",
        "a/../../../b.py",
    ],
)
def test_a_zip_that_reaches_out_the_windows_way(
    tmp_path: Path, attention: Assignment, name: str
) -> None:
    path = zipped(tmp_path / "a.zip", ("attention.py", ANSWER), (name, "x = 1\n"))
    assert "outside of it" in refusal(path, attention)


@pytest.mark.parametrize("name", ["x" * 253 + ".py", "x" * 300 + "/a.py", "\xe9" * 127 + ".py"])
def test_a_name_that_no_disk_takes(tmp_path: Path, attention: Assignment, name: str) -> None:
    path = zipped(tmp_path / "a.zip", ("attention.py", ANSWER), (name, "x = 1\n"))
    assert list(staged(path, attention, tmp_path / "staged")) == ["attention.py"]
    assert "its name is too long" in " ".join(read_submission(path, attention).notes)


def test_a_name_that_is_cut_at_nul(tmp_path: Path, attention: Assignment) -> None:
    path = zipped(tmp_path / "a.zip", ("attention.py", ANSWER), ("attention.pyX.txt", "x = 1\n"))
    assert "twice" in refusal(renamed(path, b".pyX.txt", b".py\0.txt"), attention)


# Zips that are bombs


def entries(count: int, size: int) -> bytes:
    """A zip whose ``count`` members are all the same ``size`` bytes of the file."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("0000.py", bytes(size))
    data = buffer.getvalue()
    start = data.index(b"PK\x01\x02")
    end = data.index(b"PK\x05\x06")
    entry = data[start:end]
    listing = b"".join(entry.replace(b"0000", b"%04d" % n) for n in range(count))
    tail = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, count, count, len(listing), start, 0)
    return data[:start] + listing + tail


@pytest.mark.parametrize(
    ("count", "size", "words"),
    [
        (150, 1 << 20, "too much to search"),
        (1900, 10, "No file defines"),
        (1900, 2 << 20, "No file defines"),
    ],
)
def test_members_that_overlap(
    tmp_path: Path, attention: Assignment, count: int, size: int, words: str
) -> None:
    assert words in refusal(put(tmp_path, "a.zip", entries(count, size)), attention)


@pytest.mark.parametrize("name", ["attention.py", "attention.ipynb", "lab.py"])
def test_a_bomb_is_refused_with_little_memory(
    tmp_path: Path, attention: Assignment, name: str
) -> None:
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        with archive.open(name, "w", force_zip64=True) as member:
            for _ in range(64):
                member.write(bytes(1 << 20))
        archive.writestr("more.txt", "x")
    data = path.read_bytes()
    size = (64 << 20).to_bytes(8, "little")
    assert data.count(size[:4])
    # It says so honestly, or does not: 4 GB, or little.
    for claim in (64 << 20, (4 << 30) - 2, 1000):
        lied = data.replace(size[:4], claim.to_bytes(4, "little"))
        path.write_bytes(lied)
        tracemalloc.start()
        try:
            words = refusal(path, attention)
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
        assert "larger than" in words or "cannot be unpacked" in words
        assert peak < 48 << 20  # as much as is read of any zip, and little more


def test_zips_in_zips_stay_closed(tmp_path: Path, attention: Assignment) -> None:
    data = ANSWER.encode()
    name = "attention.py"
    for depth in range(5):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            archive.writestr(name, data)
        data, name = buffer.getvalue(), f"{depth}.zip"
    text = refusal(put(tmp_path, "a.zip", data), attention)
    assert "There is no .py or .ipynb file" in text
    assert "'3.zip' is not opened" in text


@pytest.mark.parametrize("claim", [0, 1, 0xFFFFFFFE, 0xFFFFFFFF])
@pytest.mark.parametrize("field", [20, 24, 42], ids=["packed", "unpacked", "offset"])
def test_sizes_that_lie(tmp_path: Path, attention: Assignment, claim: int, field: int) -> None:
    path = zipped(tmp_path / "a.zip", ("attention.py", ANSWER))
    data = bytearray(path.read_bytes())
    struct.pack_into("<L", data, data.index(b"PK\x01\x02") + field, claim)
    path.write_bytes(data)
    with contextlib.suppress(NotGradable):
        assert read_submission(path, attention).main.text in ANSWER
