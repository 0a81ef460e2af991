"""A misconception's words are right for any code that behaves so: they name nothing it may lack."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from grader.course.loading import load_course
from grader.diagnosis.catalogue import Catalogue, Fault

ASSIGNMENTS = load_course(Path(__file__).parents[2]).assignments

OPERATOR = re.compile(r"~|[-+*/|&]=|//|\b(?:F|torch)\.\w|\bnn\.functional\b|MultiheadAttention")
"""Operators, functions and layers that one answer has and another does without."""
CALL = re.compile(r"\b(?!eval)\w+\(\)|\b(?:masked_fill|reshape|squeezes?|view|tril|triu)\b(?! )")


def faults(name: str) -> list[Fault]:
    """Those of ``name``; what is forbidden is found by its name, and may be called by it."""
    return [fault for fault in Catalogue(ASSIGNMENTS[name]) if "policy" not in fault.fails]


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_no_word_is_of_an_operator_that_the_code_may_not_have(name):
    found = {
        fault.slug: words
        for fault in faults(name)
        for words in (fault.belief, fault.message, fault.hint)
        if OPERATOR.search(words)
    }
    assert found == {}


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_what_the_code_is_said_to_do_names_no_call(name):
    found = {fault.slug: fault.message for fault in faults(name) if CALL.search(fault.message)}
    assert found == {}
