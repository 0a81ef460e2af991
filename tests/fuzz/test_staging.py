"""Whatever is handed in, or stands in a course's files, is read or refused in words."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import zipfile
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.course.loading import load_course
from grader.course.model import Assignment, CourseError
from grader.course.submission import NotGradable, read_submission, stage
from grader.course.tree import MAX_ZIP_BYTES

from . import mutating

ROOT = Path(__file__).parents[2]
ANSWER = (
    "# -*- coding: utf-8 -*-\nimport core, pkg.more\n%matplotlib inline\n"
    "def scaled_dot_product_attention(query, key, value, mask=None):\n    return '''\n%%\n'''\n"
)
numbers = st.tuples(st.integers(0, 2**64 - 1), st.integers(0, 6))


@pytest.fixture(scope="module")
def attention() -> Assignment:
    return load_course(ROOT).assignments["attention"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path


def hand_in(path: Path, assignment: Assignment) -> None:
    """Read and stage what lies at ``path``, as far as it can be: nothing else is put anywhere."""
    staged = path.parent / "staged"
    shutil.rmtree(staged, ignore_errors=True)
    staged.mkdir()
    refused = ""
    try:
        submission = read_submission(path, assignment)
    except NotGradable as problem:
        refused = str(problem)
    assert refused.isprintable()
    assert len(refused) < 5000
    if refused:
        return
    assert stage(submission, staged) == staged / "attention.py"
    files = [found for found in staged.rglob("*") if not found.is_dir()]
    assert len(files) == 1 + len(submission.helpers) <= 21
    assert {found.suffix for found in files} == {".py"}
    assert sum(found.stat().st_size for found in files) <= MAX_ZIP_BYTES
    assert {found.name for found in path.parent.iterdir()} <= {path.name, "staged"}


NAMES = [
    *(
        "attention.py",
        "attention (2).py",
        "ATTENTION.PY",
        "core.py",
        "pkg/more.py",
        "pkg/__init__.py",
    ),
    *(
        "../attention.py",
        "/etc/attention.py",
        "C:\\attention.py",
        "a\\b.py",
        "./core.py",
        "a//b.py",
    ),
    *(
        "__pycache__/core.cpython-311.pyc",
        "torch.py",
        "conftest.py",
        "a.ipynb",
        "b.zip",
        ".py",
        ".",
    ),
    *(
        "\x1b[2J.py",
        "\u202e.py",
        "a\n::error::.py",
        "x" * 300 + ".py",
        "c\xf6re.py",
        "a/b/c/d/e/f.py",
    ),
]


def archive(random: Random) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for name in random.sample(NAMES, random.randrange(1, 6)):
            member = zipfile.ZipInfo(name)
            member.compress_type = random.choice((0, 8, 8, 8, 12, 14))
            if random.random() < 0.1:
                member.external_attr = random.choice((0o120777, 0o010666, 0o060666)) << 16
            text = random.choice((ANSWER, ANSWER, "x = 1\n", "", "#" * 300_000))
            packed.writestr(member, text)
    return buffer.getvalue()


@given(mutation=numbers)
@mutating.fuzzed(80)
def test_zips(place, attention, mutation):
    seed, changes = mutation
    random = Random(seed)
    path = place / "handed-in.zip"
    path.write_bytes(mutating.data(random, archive(random), changes))
    hand_in(path, attention)


def cell(source: str | list[str], kind: str = "code") -> dict[str, object]:
    return {"cell_type": kind, "source": source, "metadata": {}, "outputs": [], "id": "a"}


NOTEBOOK = {
    "nbformat": 4,
    "nbformat_minor": 5,
    "metadata": {"kernelspec": {"language": "python"}},
    "cells": [
        cell("# Attention", "markdown"),
        cell(["%%writefile core.py\n", "x = 1\n"]),
        cell("%%bash\nls\n"),
        cell(ANSWER),
        cell(["    !pip install torch\n", "    y = 2\r\n", "files = !ls"]),
    ],
}
OLD_NOTEBOOK = {
    "nbformat": 3,
    "worksheets": [{"cells": [{"cell_type": "code", "input": ANSWER, "language": "python"}]}],
}


@given(notebook=st.sampled_from([NOTEBOOK, OLD_NOTEBOOK]), mutation=numbers, raw=st.booleans())
@mutating.fuzzed(150)
def test_notebooks(place, attention, notebook, mutation, raw):
    seed, changes = mutation
    random = Random(seed)
    if not raw:
        notebook = mutating.value(random, notebook, changes)
    data = json.dumps(notebook, default=repr).encode()
    path = place / "attention.ipynb"
    path.write_bytes(mutating.data(random, data, changes if raw else 0))
    hand_in(path, attention)


@given(
    mutation=numbers, codec=st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
)
@mutating.fuzzed(150)
def test_python_files(place, attention, mutation, codec):
    seed, changes = mutation
    random = Random(seed)
    others = [
        "%%",
        "'''",
        '"""',
        "\\",
        "# coding: utf-7",
        "# coding=rot13",
        "import (",
        "\0",
        "!x \\",
    ]
    text = mutating.lines(random, ANSWER, others, changes)
    path = place / "attention.py"
    path.write_bytes(mutating.data(random, text.encode(codec), random.randrange(3)))
    hand_in(path, attention)


ASSIGNMENT = (ROOT / "assignments" / "mha" / "assignment.toml").read_text("utf-8")
COURSE = (ROOT / "assignments" / "course.toml").read_text("utf-8")
LINES = [
    *(
        "[limits]",
        "[exports]",
        "[exports.a.forward]",
        "[[exports]]",
        "[exports.'']",
        "check_seconds = 1",
    ),
    *(
        "check_seconds = -1",
        "memory_bytes = 1e400",
        "title = ''",
        "title = [1]",
        "file = '../a.py'",
    ),
    *("forbidden = ['']", "forbidden = ['a b', 'x=']", "order = ['masks', 'masks']", "order = 1"),
    *(
        "a = " + 500 * "[",
        "a" + 300 * ".a" + " = 1",
        '"\\u0000" = 1',
        "a = 1979-05-27",
        "a = inf",
        '"""',
    ),
    *(
        "[limits",
        "arguments = ['x', 'x']",
        "options = 3",
        "\x1b",
        "= 1",
        "memory_bytes = 1" + 400 * "0",
    ),
]


@given(mutation=numbers, course=st.booleans(), cut=st.booleans())
@mutating.fuzzed(150)
def test_course_files(place, mutation, course, cut):
    seed, changes = mutation
    random = Random(seed)
    folder = place / "course" / "assignments"
    (folder / "mha").mkdir(parents=True, exist_ok=True)
    (folder / "mha" / "test_public.py").touch()
    files = {folder / "mha" / "assignment.toml": ASSIGNMENT, folder / "course.toml": COURSE}
    for path, text in files.items():
        if (path.name == "course.toml") == course:
            text = mutating.lines(random, text, LINES, changes)
        path.write_bytes(mutating.data(random, text.encode(), random.randrange(4) if cut else 0))
    with contextlib.suppress(CourseError):
        load_course(folder.parent)
