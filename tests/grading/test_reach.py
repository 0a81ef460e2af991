"""Which inputs a gradient reaches, and weights that are not returned, as a failure shows them."""

from __future__ import annotations

from grader.report.model import Evidence, Report

from .conftest import ROOT

SUBMISSIONS = ROOT / "tests" / "submissions"


def shown(report: Report) -> dict[str, Evidence]:
    return {one.name: one for check in report.checks for one in check.evidence}


def test_gradient_that_is_cut_off(grade):
    report = grade(SUBMISSIONS / "attention/wrong/detached_key.py", ROOT).for_student()
    (cut,) = shown(report).values()
    assert cut.name == "reach of key"
    assert cut.yours == [[0.0] * 4] * 3
    assert cut.expected == [[1.0] * 4] * 3


def test_weights_that_are_read_from_outside(grade):
    path = SUBMISSIONS / "mqa/wrong/mask_never_passed_on.py"
    leak = shown(grade(path, ROOT, "mqa").for_student())["weights under a causal mask"]
    for head, expected in zip(leak.yours, leak.expected, strict=True):
        assert expected[0] == [1.0, 0.0]
        assert head[0][1] > 0.1
