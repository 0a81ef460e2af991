"""Numbers with their things, scores, and the word that was meant."""

from __future__ import annotations

import pytest

from grader.report.words import count, grade, moment, nearest

from . import samples

IDS = ["attention", "masks", "dropout", "heads", "mha", "gqa", "rope", "transformer"]


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("ropee", "rope"),
        ("roep", "rope"),
        ("transfomer", "transformer"),
        ("my_attention", "attention"),
        ("mask", "masks"),
        ("drop", "dropout"),
        ("report", None),
        ("nope", None),
        ("port", None),
        ("", None),
    ],
)
def test_only_a_near_word_is_suggested(word, meant):
    assert nearest(word, IDS) == meant


@pytest.mark.parametrize(
    ("number", "said"), [(0, "0 points"), (1, "1 point"), (2, "2 points"), (1.5, "1.5 points")]
)
def test_one_is_singular(number, said):
    assert count(number, "point") == said


def test_a_score_of_one_point_and_none_at_all():
    assert grade(samples.report([samples.check("a", points=1)])) == "1 of 1 point"
    assert grade(samples.not_gradable()) == "no score"
    assert grade(samples.not_started()) == "0 of 4 points"


@pytest.mark.parametrize(
    ("held", "shown"),
    [
        ("2026-01-02T03:04:05+00:00", "2026-01-02 03:04 UTC"),
        ("2026-01-02T03:04:05+05:30", "2026-01-01 21:34 UTC"),
        ("2026-01-02T03:04:05Z", "2026-01-02 03:04 UTC"),
        ("2026-01-02T03:04:05", "2026-01-02T03:04:05"),
        ("yesterday", "yesterday"),
        ("", ""),
    ],
)
def test_moments_are_read_to_the_minute(held, shown):
    assert moment(held) == shown
