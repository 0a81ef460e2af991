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
        (
            "torch.vmap(getattr(F, '_'.join(['scaled_dot', 'product_attention'])))"
            "(*(torch.ones(1, 1, 2, 2) for _ in range(3)))",
            "Your code as it runs",
        ),
        (
            f"if query is None: F.scaled_dot_product_attention(query{'.mT' * 1000})",
            "Line ",
        ),
    ],
    ids=["in the source", "when it runs", "under vmap", "beside what is deep"],
)
def test_of_a_right_answer(grade, hand_in, use, place):
    assert REFERENCE is not None
    source = REFERENCE.read_text("utf-8") + HIDDEN_USE.format(use=use)

    told = lost(grade(hand_in(source), ROOT))

    assert list(told) == ["policy"]
    assert told["policy"].startswith(place)
    assert "uses torch.nn.functional.scaled_dot_product_attention" in told["policy"]


def test_of_a_right_answer_that_uses_a_sibling(grade, hand_in):
    assert REFERENCE is not None
    use = "torch.nn.MultiheadAttention(4, 2)"

    told = lost(grade(hand_in(REFERENCE.read_text("utf-8") + HIDDEN_USE.format(use=use)), ROOT))

    assert list(told) == ["policy"]
    assert "uses torch.nn.MultiheadAttention. That does the job of torch.nn.f" in told["policy"]


def test_of_a_right_answer_beside_what_cannot_be_analysed(grade, hand_in):
    assert REFERENCE is not None
    hand_in(f"x = {'-' * 100_000}1", "helper.py")
    source = (
        "if False: import helper\n" + REFERENCE.read_text("utf-8").split("annotations\n", 1)[-1]
    )

    told = lost(grade(hand_in(source).parent, ROOT))

    assert list(told) == ["policy"]
    assert told["policy"].startswith("helper.py could not be analysed: it is nested too deeply")


@pytest.mark.parametrize("assignment", ["mqa", "gqa", "mla"])
def test_what_is_not_forbidden_may_be_called(grade, assignment):
    kernel = ROOT / "solutions" / assignment / "accepted" / "library_kernel.py"
    assert lost(grade(kernel, ROOT, assignment)) == {}
