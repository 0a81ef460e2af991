"""Stubs, seen from their source."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.course.loading import load_course
from grader.execution.stubs import stubs

ROOT = Path(__file__).parents[2]
EMPTY = [
    "pass",
    "...",
    '"""Fill this in."""',
    "return",
    "return None",
    "return None, None",
    "output = None\n    weights = None\n    return output, weights",
    "return NotImplemented",
    "raise NotImplementedError",
    'raise NotImplementedError("todo")',
    "raise NotImplemented",
    "raise ValueError",
    'raise ValueError("at least one key")',
    '"""Words."""\n    # todo\n    pass',
    "raise NotImplementedError\n    return x + 1",
]
FILLED = [
    "return x",
    "print(x)",
    "x + 1",
    "if x: raise ValueError",
    "raise ValueError(str(x))",
    "if x: return None",
    "return None if x else 1",
    "y = x\n    return None",
]


@pytest.mark.parametrize("body", EMPTY)
def test_a_body_that_does_nothing_is_a_stub(body):
    assert set(stubs(f"def f(x):\n    {body}\n", ["f", "g"])) == {"f"}


@pytest.mark.parametrize("body", FILLED)
def test_a_body_that_does_something_is_none(body):
    assert stubs(f"def f(x):\n    {body}\n", ["f"]) == {}


@pytest.mark.parametrize(
    "more",
    [
        "f = len",
        "from math import sin as f",
        "from math import *",
        "def f(x):\n    return x",
        "f.__code__ = (lambda x: x).__code__",
        "globals()['f'] = len",
        "for f in (len,): pass",
        "class A:\n    def f(self): return 1",
    ],
)
def test_what_something_else_could_replace_is_none(more):
    assert stubs(f"def f(x):\n    pass\n\n{more}\n", ["f"]) == {}


def test_a_decorated_one_is_none():
    assert stubs("@wrap\ndef f(x):\n    pass\n", ["f"]) == {}


LAYER = """
class Layer(nn.Module):
    '''Words.'''

    def __init__(self, width):
        super().__init__()
        {constructor}

    def forward(self, x):
        {forward}
"""


@pytest.mark.parametrize(
    ("constructor", "forward", "is_stub"),
    [
        ("pass", "pass", True),
        ("raise NotImplementedError", "raise NotImplementedError", True),
        ("self.w = nn.Linear(width, width)", "raise NotImplementedError", False),
        ("pass", "return x + 1", False),
    ],
)
def test_a_class_is_one_if_all_of_it_is(constructor, forward, is_stub):
    source = LAYER.format(constructor=constructor, forward=forward)
    assert ("Layer" in stubs(source, ["Layer"])) is is_stub


@pytest.mark.parametrize(
    "source",
    [
        "class Layer(Base):\n    pass",
        "class Layer:\n    x: int",
        "class Layer(nn.Module, Mixin): ...",
    ],
)
def test_a_class_that_gets_something_from_elsewhere_is_none(source):
    assert stubs(source, ["Layer"]) == {}


@pytest.mark.parametrize("assignment", load_course(ROOT).assignments.values(), ids=lambda a: a.id)
def test_every_stub_that_is_handed_out_is_one(assignment):
    found = stubs(assignment.stub.read_text("utf-8"), list(assignment.exports))
    assert found == dict.fromkeys(assignment.exports, "raises")
