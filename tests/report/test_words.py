"""Numbers with their things, scores, and the word that was meant."""

from __future__ import annotations

import pytest

from grader.report.words import count, grade, nearest

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
