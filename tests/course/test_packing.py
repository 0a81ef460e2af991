"""Submissions that are read in one place and graded in another."""

import pytest

from grader.course.model import NotGradable
from grader.course.submission import pack, read_submission, unpack


def test_what_is_unpacked_is_what_was_read(handed_in, attention):
    (handed_in / "attention.py").write_text(
        "# coding: utf-7\nimport mine\n!pip install x\ndef attend(q, k, v): return '+2AA-'\n"
    )
    (handed_in / "mine.py").write_bytes("name = 'é'\n".encode("latin-1"))
    read = read_submission(handed_in, attention)
    assert read.helpers
    assert unpack(pack(handed_in, attention)) == read


def test_what_cannot_be_graded_is_refused_with_the_same_words(handed_in, attention):
    (handed_in / "first.py").write_text("def attend(): ...")
    (handed_in / "second.py").write_text("def attend(): ...")
    with pytest.raises(NotGradable) as here:
        read_submission(handed_in, attention)
    with pytest.raises(NotGradable) as there:
        unpack(pack(handed_in, attention))
    assert str(there.value) == str(here.value)
    assert there.value.candidates == here.value.candidates
    assert here.value.candidates
