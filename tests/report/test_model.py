"""The model itself: what a student may see, and what evidence may hold."""

from __future__ import annotations

import msgspec
import pytest

from grader.report.model import Audience, Evidence, Score, Visibility

from . import samples


def test_a_students_report_holds_no_detail_output_or_time_of_hidden_checks():
    full = samples.softmax_over_queries()
    student = full.for_student()
    assert full.audience is Audience.INSTRUCTOR
    assert student.audience is Audience.STUDENT
    for before, after in zip(full.checks, student.checks, strict=True):
        if before.visibility is Visibility.HIDDEN:
            assert after.detail == ""
            assert after.output.text == ""
            assert after.duration_s == 0 < before.duration_s
        else:
            assert after == before


def test_nothing_else_is_taken_out():
    full = samples.softmax_over_queries()
    kept = {"detail", "output", "duration_s"}
    for before, after in zip(full.checks, full.for_student().checks, strict=True):
        for field in before.__struct_fields__:
            assert field in kept or getattr(before, field) == getattr(after, field)
    assert full.for_student().score == full.score
    assert full.for_student().output == full.output
    exact = msgspec.structs.replace(full, duration_s=2.269346)
    assert exact.for_student().duration_s == 0, "how long hidden checks took is theirs to choose"
    public = [check for check in full.checks if check.visibility is Visibility.PUBLIC]
    shown = msgspec.structs.replace(exact, checks=public).for_student()
    assert shown.duration_s == 2.3


def test_a_report_that_says_it_is_a_students_is_not_believed():
    lying = msgspec.structs.replace(samples.softmax_over_queries(), audience=Audience.STUDENT)
    assert "secret" not in str(lying.for_student())


def test_every_report_of_a_course_is_taken_care_of():
    assert "secret" in str(samples.course())
    assert "secret" not in str(samples.course().for_student())


def test_evidence_holds_only_what_json_can():
    evidence = Evidence(
        demonstration="d",
        name="n",
        yours=((1.0, float("nan")), [float("inf")]),
        expected=float("-inf"),
    )
    assert evidence.yours == [[1.0, "nan"], ["inf"]]
    assert evidence.expected == "-inf"


@pytest.mark.parametrize(("earned", "possible", "percent"), [(1, 4, 25.0), (0, 0, 0.0)])
def test_percent(earned, possible, percent):
    assert Score(earned=earned, possible=possible).percent == percent
