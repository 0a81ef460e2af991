"""Files whose names say one thing, and whose content another."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import pickle
import py_compile
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from grader.course.finding import read_code
from grader.course.loading import load_course
from grader.course.model import NotGradable

from ..toy import make_course

SOURCE = "def scale(x):\n    return x * 3 + 1\n"


def _zip(member: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(member, SOURCE)
    return out.getvalue()


def _tar() -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("scale.py"))
    return out.getvalue()


def _compiled(folder: Path) -> bytes:
    source, compiled = folder / "s.py", folder / "s.pyc"
    source.write_text(SOURCE)
    py_compile.compile(str(source), cfile=str(compiled))
    return compiled.read_bytes()


OTHERS: dict[str, tuple[Callable[[Path], bytes], str]] = {
    "pdf": (lambda _: b"%PDF-1.7\n%\xe2\xe3\xcf\xd3\n1 0 obj", "a PDF document"),
    "zip": (lambda _: _zip("scale.py"), "a zip archive"),
    "docx": (lambda _: _zip("word/document.xml"), "a Word document"),
    "xlsx": (lambda _: _zip("xl/workbook.xml"), "a spreadsheet"),
    "weights": (lambda _: _zip("archive/data.pkl"), "a file of saved tensors"),
    "rtf": (lambda _: b"{\\rtf1\\ansi def scale(x):}", "a document of a word processor"),
    "html": (lambda _: f"\n<!DOCTYPE html>\n<pre>{SOURCE}".encode(), "a web page"),
    "html with a mark": (lambda _: b"\xef\xbb\xbf<HTML><body>", "a web page"),
    "gzip": (lambda _: gzip.compress(SOURCE.encode()), "a compressed file"),
    "bzip2": (lambda _: bz2.compress(SOURCE.encode()), "a compressed file"),
    "xz": (lambda _: lzma.compress(SOURCE.encode()), "a compressed file"),
    "tar": (lambda _: _tar(), "an archive"),
    "png": (lambda _: b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "a picture"),
    "jpeg": (lambda _: b"\xff\xd8\xff\xe0\0\x10JFIF", "a picture"),
    "pyc": (_compiled, "compiled Python"),
    "pickle": (lambda _: pickle.dumps({"scale": 3}), "pickled Python objects"),
    "program": (lambda _: b"\x7fELF\x02\x01\x01", "a program"),
    "patch": (lambda _: b"diff --git a/scale.py b/scale.py\n", "a patch"),
    "lfs": (lambda _: b"version https://git-lfs.github.com/spec/v1\n", "a pointer of Git LFS"),
}


@pytest.fixture(scope="module")
def scale(tmp_path_factory):
    return load_course(make_course(tmp_path_factory.mktemp("course"))).assignments["scale"]


@pytest.mark.parametrize("name", ["scale.py", "scale.ipynb"])
@pytest.mark.parametrize("kind", OTHERS)
def test_what_is_no_code_is_said_by_its_kind(scale, tmp_path, kind, name):
    make, words = OTHERS[kind]
    with pytest.raises(NotGradable) as refused:
        read_code(name, make(tmp_path), scale)
    assert str(refused.value).startswith(f"{name!r} is {words}")
    assert "Hand in your code, in a .py or .ipynb file." in str(refused.value)


@pytest.mark.parametrize("begins", ["", "\ufeff", "\n \n"])
@pytest.mark.parametrize("indent", [None, 1])
def test_a_notebook_that_is_called_py_is_read_as_one(scale, begins, indent):
    cells = [{"cell_type": "code", "source": SOURCE, "outputs": [], "metadata": {}}]
    notebook = {"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    text = begins + json.dumps(notebook, indent=indent)
    code = read_code("scale.py", text.encode("utf-8"), scale)
    assert "return x * 3 + 1" in code.text
    assert code.origins is not None
    assert code.notes == ["'scale.py' is a notebook, whatever its name says, and was read as such."]


def test_half_a_notebook_that_is_called_py_is_said_to_be_a_broken_one(scale):
    with pytest.raises(NotGradable, match="The notebook is broken"):
        read_code("scale.py", b'{"cells": [{"cell_type": "code", "sou', scale)


def test_python_that_is_called_a_notebook_is_read_as_python(scale):
    code = read_code("scale.ipynb", f"import torch\n{SOURCE}".encode(), scale)
    assert (code.origins, code.text) == (None, f"import torch\n{SOURCE}")
    assert "is Python, and no notebook" in code.notes[0]


@pytest.mark.parametrize(
    "text", ["BZh = 9", "MZ = 1", "GIF8 = 2", "{'cells': 1}", '{"x": 1}', "PK = 3", "x = '%PDF-'"]
)
def test_python_that_looks_a_little_like_something_else_is_python(scale, text):
    code = read_code("scale.py", f"{text}\n{SOURCE}".encode(), scale)
    assert (code.origins, code.notes) == (None, [])
