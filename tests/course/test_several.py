"""One student's several files: which of them is for which assignment."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import pytest

from grader.course.loading import load_course
from grader.course.model import Assignment
from grader.course.submission import NotGradable, called_after, read_submission

ATTENTION = "def attend(query, key, value, mask=None):\n    return query, key\n"
MASKS = "def causal_mask(n):\n    return n\n\ndef padding_mask(n, m):\n    return n\n"


def notebook(text: str) -> bytes:
    cell = {"cell_type": "code", "metadata": {}, "outputs": [], "source": text}
    return json.dumps({"cells": [cell], "metadata": {}, "nbformat": 4}).encode()


def zipped(files: dict[str, str]) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return data.getvalue()


def put(folder: Path, files: dict[str, str | bytes]) -> Path:
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return folder


def content(name: str, text: str) -> str | bytes:
    if name.endswith(".ipynb"):
        return notebook(text)
    return zipped({"work/my answer.py": text}) if name.endswith(".zip") else text


@pytest.mark.parametrize("folder", ["", "hw3/", "alice-main/assignments/attention/"])
@pytest.mark.parametrize(
    "name",
    [
        *("attention.py", "attention.ipynb", "attention.zip", "Attention.py", "ATTENTION.ipynb"),
        *("attention (1).py", "attention(2).zip", "attention-3.ipynb", "attention-Copy1.ipynb"),
    ],
)
def test_an_answer_beside_one_to_another(
    handed_in: Path, attention: Assignment, masks: Assignment, folder: str, name: str
) -> None:
    put(handed_in, {f"{folder}{name}": content(name, ATTENTION), f"{folder}masks.py": MASKS})
    assert [one.id for one in called_after(handed_in, [attention, masks])] == ["attention", "masks"]
    submission = read_submission(handed_in, attention, later=[masks])
    assert submission.main.text.strip() == ATTENTION.strip()
    assert "masks" not in [helper.module for helper in submission.helpers]
    assert read_submission(handed_in, masks, earlier=[attention]).main.text == MASKS


def test_answers_in_a_zip_beside_another(
    handed_in: Path, attention: Assignment, masks: Assignment
) -> None:
    both = zipped({"hw/attention.py": ATTENTION, "hw/notes.py": ""})
    put(handed_in, {"hw3.zip": both, "masks.py": MASKS})
    assert [one.id for one in called_after(handed_in, [attention, masks])] == ["attention", "masks"]
    submission = read_submission(handed_in, attention, later=[masks])
    assert submission.main.name == "hw/attention.py"
    assert "Read from 'hw3.zip'." in submission.notes


@pytest.mark.parametrize(
    ("taken", "others"),
    [
        ("attention.py", ["attention.ipynb", "attention.zip", "attention (1).py"]),
        ("attention.ipynb", ["attention.zip", "attention-Copy1.ipynb", "attention (9).py"]),
        ("attention.ipynb", ["old_try.py", "scratch.ipynb"]),
        ("Attention.ipynb", ["my attention.ipynb", "Untitled.ipynb"]),
        ("attention.zip", ["attention (1).py", "old.zip"]),
        ("attention.zip", ["attention (1).zip", "one.py", "two.py"]),
        ("WMS attention.ipynb", ["Untitled.ipynb", "old_try.py"]),
        ("hw_attention_final.py", [".ipynb_checkpoints/attention.ipynb", "scratch.py"]),
        ("attention-Copy2.ipynb", ["attention-Copy1.ipynb"]),
    ],
)
def test_a_second_one_costs_nothing(
    handed_in: Path, attention: Assignment, taken: str, others: list[str]
) -> None:
    right = ATTENTION + "# taken\n"
    put(handed_in, {name: content(name, ATTENTION) for name in others})
    put(handed_in, {taken: content(taken, right), "timestamp.txt": "2026-01-01", "notes.ipynb": ""})
    submission = read_submission(handed_in, attention)
    assert submission.main.text.strip() == right.strip()
    said = " ".join(submission.notes)
    assert taken in said or taken == "attention.py"


def test_several_zips_that_nothing_decides_between(handed_in: Path, attention: Assignment) -> None:
    put(handed_in, {name: zipped({"a.py": ATTENTION}) for name in ("one.zip", "two.zip")})
    with pytest.raises(NotGradable, match=r"Several zips hold .*: 'one\.zip', 'two\.zip'"):
        read_submission(handed_in, attention)


ANOTHER = {
    "as it is": MASKS,
    "with helpers": f"import torch\n\n{MASKS}\ndef helper(x):\n    return x\n",
    "used at the end": f"{MASKS}\nif __name__ == '__main__':\n    print(causal_mask(3))\n",
    "over several lines": "def causal_mask(\n    n,\n):\n    ...\nclass padding_mask:\n    x = 1\n",
}
OWN = {
    "nothing of any": "def attention(q):\n    return q\n",
    "a part of another": "def causal_mask(n):\n    return n\n",
    "both": MASKS + ATTENTION,
    "an alias": f"{MASKS}\nfrom mine import answer as attend\n",
    "made in an unusual way": f"{MASKS}\nglobals()['attend'] = causal_mask\n",
    "another as a part of what is called otherwise": (
        f"{MASKS}\ndef attention(q):\n    return q + causal_mask(3) + padding_mask(3, 4)\n"
    ),
    "names that are no definitions": "causal_mask = padding_mask = None\n",
    "within": "def f():\n    def causal_mask(n): ...\n    def padding_mask(n, m): ...\n",
}


@pytest.mark.parametrize("text", ANOTHER.values(), ids=ANOTHER)
@pytest.mark.parametrize("name", ["masks.py", "attention.py", "submission.py", "masks.ipynb"])
@pytest.mark.parametrize("alone", [True, False], ids=["file", "folder"])
def test_an_answer_to_another(
    handed_in: Path, attention: Assignment, masks: Assignment, alone: bool, name: str, text: str
) -> None:
    put(handed_in, {name: content(name, text)})
    path = handed_in / name if alone else handed_in
    with pytest.raises(NotGradable, match="this looks like an answer to masks") as refused:
        read_submission(path, attention, later=[masks])
    assert f"{name!r} does not define attend:" in str(refused.value)


@pytest.mark.parametrize("text", OWN.values(), ids=OWN)
def test_what_may_be_an_answer_is_graded(
    handed_in: Path, attention: Assignment, masks: Assignment, text: str
) -> None:
    put(handed_in, {"attention.py": text})
    assert read_submission(handed_in, attention, later=[masks]).main.text == text
    assert read_submission(handed_in / "attention.py", attention, later=[masks])


def test_what_a_helper_defines_counts(
    handed_in: Path, attention: Assignment, masks: Assignment
) -> None:
    put(handed_in, {"attention.py": f"from mine import *\n{MASKS}", "mine.py": ATTENTION})
    alone = handed_in / "attention.py"
    assert read_submission(alone, attention, later=[masks], beside=handed_in)
    assert read_submission(handed_in, attention, later=[masks])


def test_answers_to_several_others_are_none_in_particular(course_folder: Path) -> None:
    put(course_folder / "assignments/mha", {"test_public.py": "", "assignment.toml": MHA})
    course = load_course(course_folder)
    handed_in = put(course_folder / "in", {"masks.py": MASKS, "mha.py": "class Heads: ...\n"})
    assignment = course.assignments["attention"]
    earlier, later = course.around(assignment)
    with pytest.raises(NotGradable, match=r"No file defines attend; looked at 'masks.py'; 'mha"):
        read_submission(handed_in, assignment, earlier=earlier, later=later)


MHA = """\
title = "Heads"

[exports.Heads]
arguments = ["x"]
"""
