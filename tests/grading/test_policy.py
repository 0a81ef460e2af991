"""What an assignment forbids costs the policy check's points, and nothing else."""

from __future__ import annotations

import pytest

from grader.course.loading import load_course

from .conftest import ROOT

REFERENCE = load_course(ROOT).assignments["attention"].reference
HIDDEN_USE = """

import torch.nn.functional as F
_own = scaled_dot_product_attention

def scaled_dot_product_attention(query, key, value, mask=None):
    {use}
    return _own(query, key, value, mask)
"""


def lost(report) -> dict[str, str]:
    return {check.family: check.message for check in report.checks if check.earned < check.points}


@pytest.mark.parametrize(
    ("use", "place"),
    [
        ("vars(F)['scaled_dot_product_attention'](query, key, value)", "Line "),
        (
            "getattr(F, '_'.join(['scaled_dot', 'product_attention']))(query, key, value)",
            "Your code as it runs",
        ),
    ],
    ids=["in the source", "when it runs"],
)
def test_of_a_right_answer(grade, hand_in, use, place):
    assert REFERENCE is not None
    source = REFERENCE.read_text("utf-8") + HIDDEN_USE.format(use=use)

    told = lost(grade(hand_in(source), ROOT))

    assert list(told) == ["policy"]
    assert told["policy"].startswith(place)
    assert "uses torch.nn.functional.scaled_dot_product_attention" in told["policy"]


@pytest.mark.parametrize("assignment", ["mqa", "gqa", "mla"])
def test_what_is_not_forbidden_may_be_called(grade, assignment):
    kernel = ROOT / "solutions" / assignment / "accepted" / "library_kernel.py"
    assert lost(grade(kernel, ROOT, assignment)) == {}
