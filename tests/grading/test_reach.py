"""On which example a failure is shown; what gradients reach; weights that are not returned."""

from __future__ import annotations

import pytest

from grader.course.loading import load_course
from grader.diagnosis.catalogue import Catalogue
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
    leak = shown(grade(path, ROOT, "mqa").for_student())["weights"]
    assert "causal mask" in leak.demonstration
    for head, expected in zip(leak.yours, leak.expected, strict=True):
        assert expected[0] == [1.0, 0.0]
        assert head[0][1] > 0.1


@pytest.mark.parametrize("id", ["attention", "mqa", "mla_rope"])
def test_a_failure_about_masks_is_shown_with_a_mask(grade, tmp_path, id):
    catalogue = Catalogue(load_course(ROOT).assignments[id])
    source = catalogue.build(catalogue["no-scale"], catalogue["mask-ignored"])
    assert source is not None
    (tmp_path / f"{id}.py").write_text(source)
    checks = grade(tmp_path / f"{id}.py", ROOT, id).for_student().checks
    about_masks = [check for check in checks if check.family == "mask" and check.evidence]
    assert about_masks
    for check in about_masks:
        assert {"mask" in one.demonstration for one in check.evidence} == {True}, check.title
    values = [check for check in checks if check.family == "values" and "mask" not in check.title]
    assert any("mask" not in one.demonstration for check in values for one in check.evidence)


def test_an_error_that_is_due_is_shown_where_it_is_due(grade):
    report = grade(SUBMISSIONS / "attention/wrong/fully_masked_zeros.py", ROOT).for_student()
    (due,) = shown(report).values()
    assert due.demonstration == "a mask that leaves the last query no key"
    assert (due.yours, due.expected) == ([0.0], [1.0])
