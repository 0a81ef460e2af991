"""What a report puts down to what: only what a misconception does by itself, the dearest first."""

from __future__ import annotations

import pytest

from grader.report.causes import around_diagnoses, causes
from grader.report.model import Report, Status

from .conftest import ROOT, SUBMISSIONS

NO_SCALE = (SUBMISSIONS / "wrong" / "no_scale.py").read_text()

THREE_AXES = """
import math


def scaled_dot_product_attention(query, key, value, mask=None):
    batch, queries, width = query.shape
    scores = query @ key.transpose(-2, -1) / math.sqrt(width)
    if mask is not None:
        scores = scores.masked_fill(~mask, -math.inf)
    weights = scores.softmax(dim=-1)
    return weights @ value, weights
"""


def explained(report: Report) -> dict[str, set[str]]:
    return {diagnosis.faults[0]: set(diagnosis.checks) for diagnosis in report.diagnosis}


def points(report: Report, checks: set[str]) -> int:
    return sum(check.points for check in report.checks if check.id in checks)


def test_each_misconception_explains_what_it_fails_by_itself(grade, hand_in):
    report = grade(hand_in(THREE_AXES), ROOT)
    found = explained(report)
    assert list(found) == ["needs-three-axes", "mask-must-be-bool", "fully-masked-nan"]
    assert found["fully-masked-nan"] == {"query_without_keys"}
    assert "mask_meaning" in found["mask-must-be-bool"]
    assert points(report, found["needs-three-axes"]) > 30, "the one that costs most comes first"
    roots = [cause.checks[0].id for cause in causes(report.checks, report.diagnosis)]
    assert len(roots) == 3


def test_what_has_a_reason_of_its_own_is_not_put_down_to_a_misconception(grade, hand_in):
    narrow = NO_SCALE.replace(
        "    return output",
        "    if query.shape[-2] == 1:\n        output = output.squeeze(-2)\n    return output",
    )
    report = grade(hand_in(narrow), ROOT)
    checks = {check.id: check for check in report.checks}
    assert {"worked_example", "ratio_of_two_keys"} <= explained(report)["no-scale"]
    assert checks["axes_of_size_one"].status is Status.FAILED
    assert checks["axes_of_size_one"].because is None
    assert "axes_of_size_one" not in explained(report)["no-scale"]


@pytest.mark.parametrize("name", ["arguments_in_another_order", "weights_transposed"])
def test_crashes_that_a_misconception_leads_to_are_its_own(grade, name):
    report = grade(SUBMISSIONS / "wrong" / f"{name}.py", ROOT)
    cause = causes(report.checks, report.diagnosis)[0]
    assert cause.is_misconception
    assert cause.hint == "", "that of the misconception is enough, and may say otherwise"
    assert cause.lost > 0.9 * (report.score.possible - report.score.earned)


def test_a_crash_nearly_everywhere_comes_before_a_misconception_worth_little(grade, hand_in):
    crashes = NO_SCALE.replace(
        "    scores = torch.matmul(query, key.transpose(-1, -2))",
        "    scores = torch.matmul(query, key.transpose(-1, -2)) / query.shape[-1] ** 0.5\n"
        "    if query.dim() > 2 or key.shape[-2] > 3:\n        scores = scores[0] @ bias",
    )
    report = grade(hand_in(crashes), ROOT)
    first = causes(report.checks, report.diagnosis)[0]
    assert first.status is Status.ERROR
    assert "bias" in first.locations[0].text
    assert not report.diagnosis or len(around_diagnoses(report)[0]) == 1
