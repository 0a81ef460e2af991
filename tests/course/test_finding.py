"""Which file is graded, which are staged beside it, and what is refused."""

import contextlib
import io
import json
import os
import stat
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.course.model import Assignment
from grader.course.submission import NotGradable, Submission, read_submission, stage

ANSWER = "def attend(query, key, value, mask=None):\n    return query, key\n"


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        put(folder, f"{name}.py", text)


def put(folder: Path, name: str, text: str | bytes = ANSWER) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def refusal(path: Path, assignment: Assignment) -> NotGradable:
    with pytest.raises(NotGradable) as caught:
        read_submission(path, assignment)
    return caught.value


def helper_modules(submission: Submission) -> list[str]:
    return [helper.module for helper in submission.helpers]


@pytest.fixture(params=["folder", "zip"])
def pack(request: pytest.FixtureRequest, tmp_path: Path) -> object:
    """Hands a dictionary of files in, as a folder or as a zip: both must be found alike."""

    def pack(files: dict[str, str]) -> Path:
        folder = tmp_path / "alice"
        for name, text in files.items():
            put(folder, name, text)
        if request.param == "folder":
            folder.mkdir(exist_ok=True)
            return folder
        with zipfile.ZipFile(tmp_path / "alice.zip", "w", zipfile.ZIP_DEFLATED) as archive:
            for name, text in files.items():
                archive.writestr(name, text)
        return tmp_path / "alice.zip"

    return pack


# A single file


@pytest.mark.parametrize("name", ["attention.py", "my answer (3).py", "final.PY"])
def test_a_file_is_taken_whatever_its_name(
    handed_in: Path, attention: Assignment, name: str
) -> None:
    submission = read_submission(put(handed_in, name), attention)
    assert submission.id == submission.main.name == name
    assert submission.main.module == "attention"
    assert submission.main.text == ANSWER
    assert not submission.main.definitions_first
    assert submission.main.origins is None
    assert submission.notes == []


IMPORTING = {
    "attention": "import core as c, extra\n" + ANSWER,
    "core": "from deeper.er import x\nfrom deeper import y\n",
    "deeper": "",
    "extra": "",
    "bob_attention": ANSWER,
}


def test_of_a_folder_that_is_named_a_file_takes_what_it_imports(
    handed_in: Path, attention: Assignment
) -> None:
    write(handed_in, **IMPORTING)
    submission = read_submission(handed_in / "attention.py", attention, beside=handed_in)
    assert helper_modules(submission) == ["core", "extra", "deeper"]
    assert submission.left == submission.notes == []


def test_of_the_assignments_own_folder_too(attention: Assignment) -> None:
    write(attention.directory, **IMPORTING)
    submission = read_submission(attention.stub, attention)
    assert helper_modules(submission) == ["core", "extra", "deeper"]


def test_a_folder_somewhere_else_can_be_named(
    handed_in: Path, attention: Assignment, tmp_path: Path
) -> None:
    write(handed_in, attention=IMPORTING["attention"], core="x = 'a neighbour'")
    mine = tmp_path / "mine"
    mine.mkdir()
    write(mine, core="x = 'mine'")
    submission = read_submission(handed_in / "attention.py", attention, beside=mine)
    assert [helper.text for helper in submission.helpers] == ["x = 'mine'"]


def test_of_any_other_folder_a_file_takes_nothing(handed_in: Path, attention: Assignment) -> None:
    write(handed_in, **IMPORTING)
    submission = read_submission(handed_in / "attention.py", attention)
    assert submission.helpers == []
    assert submission.left == ["core", "extra"]
    [core, extra] = submission.notes
    assert "core.py lies beside your file but was not used" in core
    assert "--with FOLDER" in core
    assert "extra.py" in extra


@pytest.mark.parametrize(
    "reaches",
    [
        "from smith_jane import attend",
        "import smith_jane.attend",
        "if True:\n    import smith_jane as torch",
        "def f():\n    from smith_jane import *",
        "try:\n    from smith_jane import attend\nexcept ImportError:\n    pass",
    ],
)
@pytest.mark.parametrize("own", ["mallory_eve.py", "mallory_eve.ipynb"])
def test_a_neighbours_file_is_never_taken(
    handed_in: Path, attention: Assignment, own: str, reaches: str
) -> None:
    write(handed_in, smith_jane=ANSWER, jones_bob=ANSWER)
    (handed_in / "smith_jane").mkdir()
    put(handed_in, "smith_jane/__init__.py")
    cell = {"cell_type": "code", "metadata": {}, "source": f"{reaches}\n", "outputs": []}
    book = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [cell]}
    content = json.dumps(book) if own.endswith("ipynb") else f"{reaches}\n"
    submission = read_submission(put(handed_in, own, content), attention)
    assert submission.helpers == []
    assert submission.left == ["smith_jane"]


@pytest.mark.parametrize("module", ["torch", "math", "test_mine", "conftest"])
def test_what_could_not_be_taken_anyway_is_no_hint(
    handed_in: Path, attention: Assignment, module: str
) -> None:
    write(handed_in, attention=f"import {module}\n{ANSWER}", **{module: ""})
    assert read_submission(handed_in / "attention.py", attention).left == []


@pytest.mark.skipif(not hasattr(os, "symlink"), reason="needs links")
def test_a_link_to_the_assignments_folder_is_that_folder(
    handed_in: Path, attention: Assignment
) -> None:
    write(attention.directory, attention="import core\n" + ANSWER, core="")
    (handed_in / "there").symlink_to(attention.directory)
    submission = read_submission(handed_in / "there" / "attention.py", attention)
    assert helper_modules(submission) == ["core"]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("attention.pdf", "%PDF", r"'attention.pdf' is not accepted. Hand in a .py or .ipynb"),
        ("attention", ANSWER, "not accepted"),
        ("attention.py", "", "'attention.py': the file is empty"),
        ("attention.py", "\ufeff \r\n", "the file is empty"),
        ("attention.ipynb", "", "the file is empty"),
        ("attention.py", "#" * (1 << 20) + "\n", "'attention.py' is larger than 1 MiB"),
        ("attention.py", "\u0394".encode("cp1253") * 900_000, "more than 1 MiB of code"),
        ("attention.zip", "PK", "'attention.zip' is not a zip file, or is broken"),
    ],
)
def test_files_that_hold_nothing_to_grade(
    handed_in: Path, attention: Assignment, name: str, content: str | bytes, words: str
) -> None:
    assert words in str(refusal(put(handed_in, name, content), attention))


@pytest.mark.parametrize("name", ["attention.py", "a\0b.py", "x" * 5000, "a.py/b.py", "\ud800.py"])
def test_a_path_that_is_not_there(handed_in: Path, attention: Assignment, name: str) -> None:
    put(handed_in, "a.py")
    text = str(refusal(handed_in / name, attention))
    assert "There is no" in text or "cannot be read" in text
    text.encode()


def test_a_name_that_cannot_be_shown_is_escaped(handed_in: Path, attention: Assignment) -> None:
    name = os.fsdecode(b"a\x1b[31m\xff.py")
    try:
        submission = read_submission(put(handed_in, name), attention)
    except (OSError, UnicodeError):
        pytest.skip("the file system has no such names")
    assert submission.id == submission.main.name == r"a\x1b[31m\xff.py"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("whole", [True, False])
def test_what_is_not_a_regular_file_never_blocks(
    handed_in: Path, attention: Assignment, whole: bool
) -> None:
    os.mkfifo(handed_in / "attention.py")
    path = handed_in if whole else handed_in / "attention.py"
    assert "'attention.py' is not a regular file" in str(refusal(path, attention))


def test_a_folder_named_like_a_file(handed_in: Path, attention: Assignment) -> None:
    put(handed_in, "attention.py/attention.py")
    assert read_submission(handed_in / "attention.py", attention).main.name == "attention.py"
    assert read_submission(handed_in, attention).main.name == "attention.py/attention.py"


@pytest.mark.skipif(os.name != "posix", reason="needs links")
@pytest.mark.parametrize("place", ["attention.py", "attention/attention.py", "whole", "deep"])
def test_links_are_not_followed(
    tmp_path: Path, handed_in: Path, attention: Assignment, place: str
) -> None:
    secret = put(tmp_path / "solutions" / "attention", "attention.py").parent
    if place == "attention/attention.py":
        (handed_in / "attention").symlink_to(secret)
        path = handed_in
    elif place == "whole":
        path = handed_in / "link"
        path.symlink_to(secret)
    elif place == "deep":
        (handed_in / "sub").mkdir()
        (handed_in / "sub" / "attention.py").symlink_to(secret / "attention.py")
        write(handed_in, other="x = 1\n")
        path = handed_in
    else:
        path = handed_in / place
        path.symlink_to(secret / "attention.py")
    text = str(refusal(path, attention))
    assert "symbolic link" in text or "There is no .py" in text
    assert str(tmp_path) not in text


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_a_linked_helper_is_left_out(tmp_path: Path, attention: Assignment) -> None:
    secret = put(tmp_path, "secret.py")
    main = put(tmp_path / "alice", "attention.py", "import core\n" + ANSWER)
    (main.parent / "core.py").symlink_to(secret)
    assert read_submission(main, attention).helpers == []
    assert read_submission(main.parent, attention).helpers == []


@contextlib.contextmanager
def without_privileges() -> Iterator[None]:
    user = os.geteuid()
    if user == 0:  # whom no permission stops
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)


@pytest.mark.skipif(os.name != "posix", reason="needs permissions")
@pytest.mark.parametrize("name", ["attention.py", "attention.zip", "."])
def test_without_permission(handed_in: Path, attention: Assignment, name: str) -> None:
    put(handed_in, "attention.py")
    put(handed_in, "attention.zip", b"")
    path = handed_in / name
    path.chmod(0)
    try:
        with without_privileges():
            assert "cannot be read" in str(refusal(path, attention))
    finally:
        path.chmod(0o700)


# A folder or a zip


@pytest.mark.parametrize(
    "place",
    [
        "attention.py",
        "attention/attention.py",
        "assignments/attention/attention.py",
        "alice-main/attention.py",
        "alice-main/assignments/attention/attention.py",
        "a/b/c/attention.py",
    ],
)
def test_the_name_that_the_assignment_gives(pack, attention: Assignment, place: str) -> None:
    files = {place: ANSWER, f"{Path(place).parent}/other.py": ANSWER}
    submission = read_submission(pack(files), attention)
    assert submission.main.name == place
    assert submission.main.text == ANSWER
    assert submission.notes == []


def test_the_given_name_goes_before_what_others_define(pack, attention: Assignment) -> None:
    files = {"attention.py": "x = 1\n", "other.py": ANSWER, "attention (1).py": ANSWER}
    submission = read_submission(pack(files), attention)
    assert submission.main.name == "attention.py"
    assert submission.notes == ["Not looked at: 'attention (1).py'."]


@pytest.mark.parametrize(
    "definition",
    [
        "def attend(q):\n    pass\n",
        "if True:\n    def  attend (q): ...\n",
        "class attend: pass\n",
        "attend = lambda q: q\n",
        "attend: object = 3\n",
    ],
)
def test_the_only_file_that_defines_the_export(
    pack, attention: Assignment, definition: str
) -> None:
    files = {
        "src/my work.py": definition,
        "uses.py": "attend(1)\nattend == 2\ndef attended(): ...\nx.attend = 3\n",
        "test_mine.py": ANSWER,
        "conftest.py": ANSWER,
    }
    submission = read_submission(pack(files), attention)
    assert submission.main.name == "src/my work.py"
    assert submission.main.module == "attention"
    assert submission.notes == ["Found as 'src/my work.py'; the name to hand in is 'attention.py'."]


@pytest.mark.parametrize(
    ("names", "newest"),
    [
        (["attention (1).py", "attention (2).py", "attention (10).py"], "attention (10).py"),
        (["attention-1.py", "attention-2.py"], "attention-2.py"),
        (["answer.py", "answer(1).py"], "answer(1).py"),
        (["x/a-1.py", "x/a.py"], "x/a-1.py"),
        (["attention.ipynb.py", "attention.ipynb-1.py"], "attention.ipynb-1.py"),
    ],
)
def test_the_newest_of_several(pack, attention: Assignment, names: list[str], newest: str) -> None:
    submission = read_submission(pack(dict.fromkeys(names, ANSWER)), attention)
    assert submission.main.name == newest
    assert any("Not looked at" in note for note in submission.notes)


@pytest.mark.parametrize(
    "names", [["one.py", "two.py"], ["a (1).py", "b (2).py"], ["x/a.py", "y/a-1.py"]]
)
def test_several_that_nothing_decides_between(
    pack, attention: Assignment, names: list[str]
) -> None:
    error = refusal(pack(dict.fromkeys(names, ANSWER)), attention)
    assert error.candidates == names
    assert all(repr(name) in str(error) for name in names)
    assert "named 'attention.py'" in str(error)


def test_of_several_the_one_that_defines_all_exports(pack, masks: Assignment) -> None:
    both = "def causal_mask(): ...\ndef padding_mask(): ...\n"
    files = {"mine.py": both, "mha.py": "def causal_mask(): ...\n"}
    assert read_submission(pack(files), masks).main.name == "mine.py"
    files["other.py"] = both
    assert refusal(pack(files), masks).candidates == ["mine.py", "other.py"]


def test_nothing_that_defines_the_export(pack, attention: Assignment) -> None:
    error = refusal(pack({"a.py": "x = 1\n", "b.ipynb": "{}"}), attention)
    assert error.candidates == ["a.py", "b.ipynb"]
    assert "No file defines attend; looked at 'a.py'; 'b.ipynb'" in str(error)


def test_nothing_at_all(pack, attention: Assignment) -> None:
    error = refusal(pack({"notes.txt": "attend"}), attention)
    assert "There is no .py or .ipynb file" in str(error)
    assert error.candidates == []


def test_the_only_file_is_broken(pack, attention: Assignment) -> None:
    assert "'lab.ipynb': The notebook is broken" in str(
        refusal(pack({"lab.ipynb": "{"}), attention)
    )


@pytest.mark.parametrize(
    "place",
    [
        ".git/a.py",
        "__pycache__/a.py",
        "venv/lib/a.py",
        ".ipynb_checkpoints/a-checkpoint.py",
        "__MACOSX/a.py",
        "._a.py",
        "1/2/3/4/5/a.py",
    ],
)
def test_places_that_are_not_searched(pack, attention: Assignment, place: str) -> None:
    assert "No file defines" in str(
        refusal(pack({place: ANSWER, "b.py": "x = 1\n", "c/d.py": "y = 1\n"}), attention)
    )


def test_an_environment_of_any_name(handed_in: Path, attention: Assignment) -> None:
    put(handed_in, "tools/pyvenv.cfg", "")
    put(handed_in, "tools/a.py")
    assert "There is no .py" in str(refusal(handed_in, attention))


def test_the_search_is_bounded(handed_in: Path, attention: Assignment) -> None:
    for number in range(2_000):
        (handed_in / f"a{number}.txt").touch()
    write(handed_in, z=ANSWER)
    assert "not all of them were looked at" in str(refusal(handed_in, attention))
    put(handed_in, "zz/attention/attention.py")
    write(handed_in, attention=ANSWER)
    assert read_submission(handed_in, attention).main.name == "attention.py"


def test_the_current_folder(
    handed_in: Path, attention: Assignment, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(handed_in, attention=ANSWER)
    monkeypatch.chdir(handed_in)
    assert read_submission(Path(), attention).id == "handed-in"


def test_a_zip_in_a_folder(handed_in: Path, attention: Assignment) -> None:
    with zipfile.ZipFile(handed_in / "work.zip", "w") as archive:
        archive.writestr("attention.py", ANSWER)
    submission = read_submission(handed_in, attention)
    assert submission.id == "handed-in"
    assert submission.main.text == ANSWER
    assert submission.notes == ["Read from 'work.zip'."]


# Helpers


def test_other_files_of_a_folder_are_helpers(pack, attention: Assignment) -> None:
    files = {
        "attention.py": "from pkg.core import x\n" + ANSWER,
        "unused.py": "",
        "pkg/__init__.py": "",
        "pkg/core.py": "x = 1\n",
        "pkg/deep/er.py": "",
        "not a name.py": "",
        "Other.PY": "",
        "data.csv": "",
    }
    submission = read_submission(pack(files), attention)
    assert helper_modules(submission) == ["pkg.__init__", "pkg.core", "unused"]
    assert [helper.name for helper in submission.helpers][1] == "pkg/core.py"
    assert submission.notes == []


def test_helpers_lie_beside_the_main_file(pack, attention: Assignment) -> None:
    files = {
        "repo/assignments/attention/attention.py": "import core\n" + ANSWER,
        "repo/assignments/attention/core.py": "",
        "repo/assignments/attention/test_public.py": "",
        "repo/assignments/masks/masks.py": "",
        "repo/top.py": "",
    }
    submission = read_submission(pack(files), attention)
    assert helper_modules(submission) == ["core"]
    assert submission.helpers[0].name == "repo/assignments/attention/core.py"
    assert submission.notes == []


@pytest.mark.parametrize(
    "name", ["torch", "numpy", "random", "pytest", "grader", "einops", "hypothesis", "msgspec"]
)
def test_a_helper_never_hides_a_library(pack, attention: Assignment, name: str) -> None:
    files = {"attention.py": f"import {name}\n" + ANSWER, f"{name}.py": "", "fine.py": ""}
    submission = read_submission(pack(files), attention)
    assert helper_modules(submission) == ["fine"]
    assert submission.notes == [f"Not used: '{name}.py' (it would hide a library)."]


@pytest.mark.parametrize("name", ["test_public", "conftest", "sitecustomize", "usercustomize"])
def test_test_files_are_no_helpers(pack, attention: Assignment, name: str) -> None:
    files = {"attention.py": ANSWER, f"{name}.py": ""}
    assert read_submission(pack(files), attention).helpers == []
    files["attention.py"] = f"from {name} import x\n" + ANSWER
    submission = read_submission(pack(files), attention)
    assert submission.helpers == []
    assert f"'{name}.py'" in submission.notes[0]


@pytest.mark.parametrize("name", ["attention", "ATTENTION"])
def test_the_main_files_name_is_taken(handed_in: Path, attention: Assignment, name: str) -> None:
    write(handed_in, mine=f"import {name}\n" + ANSWER, **{name: "x = 1\n"})
    submission = read_submission(handed_in / "mine.py", attention, beside=handed_in)
    assert submission.helpers == []
    assert submission.notes == [f"Not used: '{name}.py' (another file has its name)."]


def test_at_most_twenty_helpers_imported_ones_first(pack, attention: Assignment) -> None:
    files = {f"m{number:02}.py": "" for number in range(25)}
    files["attention.py"] = "import m24\n" + ANSWER
    submission = read_submission(pack(files), attention)
    assert helper_modules(submission) == ["m24", *(f"m{number:02}" for number in range(19))]
    assert submission.notes == ["Only 20 files beside the main one were used; 5 were not."]


def test_a_helper_that_is_too_large(pack, attention: Assignment) -> None:
    files = {"attention.py": ANSWER, "big.py": f"# {os.urandom(1 << 19).hex()}", "fine.py": ""}
    submission = read_submission(pack(files), attention)
    assert helper_modules(submission) == ["fine"]
    assert "'big.py' ('big.py' is larger than 1 MiB" in submission.notes[0]


def test_equal_submissions_have_equal_digests(pack, attention: Assignment) -> None:
    files = {"attention.py": ANSWER, "core.py": "x = 1\n"}
    digest = read_submission(pack(files), attention).digest
    assert read_submission(pack(files), attention).digest == digest
    files["core.py"] = "x = 2\n"
    assert read_submission(pack(files), attention).digest != digest


# Zips


def zipped(path: Path, *members: tuple[str | zipfile.ZipInfo, bytes], method: int = 8) -> Path:
    with zipfile.ZipFile(path, "w", method) as archive:
        for member, data in members:
            archive.writestr(member, data)
    return path


@pytest.mark.parametrize("name", ["/attention.py", "../attention.py", "a/../../b.py", "C:/a.py"])
def test_a_zip_that_reaches_out(tmp_path: Path, attention: Assignment, name: str) -> None:
    path = zipped(tmp_path / "a.zip", (name, b""), ("attention.py", ANSWER.encode()))
    assert "outside of it" in str(refusal(path, attention))


def test_backslashes_in_a_zip(tmp_path: Path, attention: Assignment) -> None:
    path = zipped(tmp_path / "a.zip", ("lab\\attention.py", ANSWER.encode()))
    assert read_submission(path, attention).main.name == "lab/attention.py"


def test_a_link_in_a_zip(tmp_path: Path, attention: Assignment) -> None:
    link = zipfile.ZipInfo("attention.py")
    link.create_system = 3
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    path = zipped(tmp_path / "a.zip", (link, b"/etc/passwd"))
    assert "symbolic link" in str(refusal(path, attention))


def test_an_encrypted_zip(tmp_path: Path, attention: Assignment) -> None:
    path = zipped(tmp_path / "a.zip", ("attention.py", ANSWER.encode()))
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    assert "without a password" in str(refusal(path, attention))


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_a_zip_that_would_unpack_without_bound(
    tmp_path: Path, attention: Assignment, method: int
) -> None:
    path = zipped(tmp_path / "a.zip", ("attention.py", ANSWER.encode()), method=method)
    assert "an ordinary zip" in str(refusal(path, attention))


@pytest.mark.parametrize(
    "members",
    [
        [(f"{n}.txt", b"") for n in range(3_000)],
        [("a.bin", bytes(30 << 20))],
        [("data/train.csv", b"1,2,3\n" * (1 << 20))],
        [("a.py", bytes(2 << 20))],
        [("a.txt", b"PK\x01\x02" * 50_000)],
        [("x.py", b"y = 1\n"), ("./x.py", b"y = 2\n")],
        [(f".venv/lib/{n}.py", b"x = 1\n") for n in range(5_000)],
    ],
    ids=["many", "large", "packs well", "a large file", "looks like many", "twice", "libraries"],
)
def test_what_is_not_read_of_a_zip_costs_nothing(
    tmp_path: Path, attention: Assignment, members: list[tuple[str, bytes]]
) -> None:
    answer = ("attention.py", ANSWER.encode())
    path = zipped(tmp_path / "a.zip", *members, answer)
    submission = read_submission(path, attention)
    assert submission.main.text == ANSWER
    assert not submission.helpers


@pytest.mark.parametrize(
    ("members", "words"),
    [
        ([(f"{n}.txt", b"") for n in range(20_001)], "more than 20,000 files"),
        ([(f"{n}.py", bytes(1 << 20)) for n in range(70)], "too much to search"),
        ([("lab.py", bytes(2 << 20))], "'lab.py' is larger than 1 MiB"),
        ([("lab.ipynb", bytes(21 << 20))], "'lab.ipynb' is larger than 20 MiB"),
        ([("attention.py", b""), ("./attention.py", b"")], "'attention.py' twice"),
    ],
)
def test_a_zip_that_is_too_much(
    tmp_path: Path, attention: Assignment, members: list[tuple[str, bytes]], words: str
) -> None:
    path = zipped(tmp_path / "a.zip", *members)
    assert words in str(refusal(path, attention))


def test_what_a_zip_holds_in_ignored_folders_does_not_count(
    tmp_path: Path, attention: Assignment
) -> None:
    members = [(f".git/{n}", b"") for n in range(300)]
    path = zipped(tmp_path / "a.zip", ("attention.py", ANSWER.encode()), *members)
    assert read_submission(path, attention).main.text == ANSWER


def test_a_zip_whose_sizes_lie(tmp_path: Path, attention: Assignment) -> None:
    path = zipped(tmp_path / "a.zip", ("attention.py", b"#" * (1 << 20) + b"\n"))
    data = path.read_bytes()
    size = ((1 << 20) + 1).to_bytes(4, "little")
    assert data.count(size) == 2
    path.write_bytes(data.replace(size, (100).to_bytes(4, "little")))
    assert "cannot be unpacked" in str(refusal(path, attention))


def test_a_zip_that_is_cut_off(tmp_path: Path, attention: Assignment) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("attention.py", ANSWER)
    path = put(tmp_path, "a.zip", buffer.getvalue()[:-30])
    assert "broken" in str(refusal(path, attention))


# Staging


def test_staging(handed_in: Path, tmp_path: Path, attention: Assignment) -> None:
    put(handed_in, "mine (1).py", "import pkg.core\nimport helper\n" + ANSWER)
    put(handed_in, "helper.py", "# -*- coding: latin-1 -*-\ns = '\xe9'\n".encode("latin-1"))
    put(handed_in, "pkg/core.py", "")
    submission = read_submission(handed_in, attention)
    directory = tmp_path / "staged"
    directory.mkdir()
    main = stage(submission, directory)
    assert main == directory / "attention.py"
    assert main.read_text(encoding="utf-8") == submission.main.text
    assert (directory / "helper.py").read_bytes().endswith("s = '\xe9'\n".encode())
    assert (directory / "pkg" / "core.py").read_bytes() == b""
    assert not any(path.stat().st_mode & 0o222 for path in directory.rglob("*.py"))
    with pytest.raises(FileExistsError):
        stage(submission, directory)


@pytest.mark.skipif(os.name != "posix", reason="needs links")
def test_staging_never_writes_through_a_link(
    handed_in: Path, tmp_path: Path, attention: Assignment
) -> None:
    write(handed_in, attention=ANSWER)
    target = tmp_path / "target.py"
    (tmp_path / "staged").mkdir()
    (tmp_path / "staged" / "attention.py").symlink_to(target)
    with pytest.raises(FileExistsError):
        stage(read_submission(handed_in, attention), tmp_path / "staged")
    assert not target.exists()
