"""What a file of tests is worth: which right answers it rejects, which faults it catches."""

from __future__ import annotations

import os

import pytest

ALL = bool(os.environ.get("GRADE_SEEDS"))
"""Whether every strong file of tests that there is is measured."""

THOROUGH = """
import torch
import pytest
from scale import scale

@pytest.fixture
def x():
    return torch.tensor([1.0, 2.0], requires_grad=True)

@pytest.mark.parametrize("factor", [1, 10])
def test_values(x, factor):
    torch.testing.assert_close(scale(x * factor), x * factor * 3 + 1)

class TestGradient:
    def test_reaches(self, x):
        scale(x).sum().backward()
        assert x.grad.tolist() == [3.0, 3.0]

@pytest.mark.skip(reason="not written yet")
def test_later():
    assert False

def test_approximately(x):
    assert scale(x)[0].item() == pytest.approx(4)
"""


def test_thorough_tests_catch_everything(hand_in):
    found = hand_in(THOROUGH)
    assert (found.valid, found.rejections, found.message) == (True, [], "")
    assert (found.tests, found.right_answers) == (5, 2)
    assert (found.caught, found.faults, found.percent) == (3, 3, 100)
    caught_by = {entry.slug: entry.caught_by for entry in found.details}
    assert caught_by["detached"] == "test_reaches"
    assert caught_by["doubled"] == "test_values[1]"


def test_what_is_missed_is_said_in_kinds(hand_in):
    found = hand_in("""
import torch, scale
def test_zero():
    assert scale.scale(torch.zeros(1)).item() == 1
""")
    assert found.valid
    assert found.caught == 1
    assert [(kind.family, kind.caught, kind.faults) for kind in found.kinds] == [
        ("values", 1, 2),
        ("gradient", 0, 1),
    ]
    assert found.kinds[1].words == "gradients that do not arrive, or are wrong"


def test_a_test_that_rejects_the_reference_makes_them_invalid(hand_in):
    found = hand_in("""
import torch
from scale import scale

def right(x):
    return x * 5

def test_five_times():
    x = torch.tensor([2.0])
    assert scale(x) == right(x), "five times, no?"

def test_one():
    assert scale(torch.zeros(1)) == 1
""")
    assert not found.valid
    assert (found.caught, found.kinds, found.details) == (0, [], [])
    (rejection,) = found.rejections
    assert (rejection.test, rejection.line, rejection.rejects) == ("test_five_times", 10, 2)
    assert "five times, no?" in rejection.message
    assert rejection.answers == ["the reference", "sum.py"]


def test_a_test_that_asks_for_one_way_to_write_it_is_told_so(hand_in):
    found = hand_in(
        """
import torch
from scale import Scale
def test_name():
    assert Scale().factor == 3
""",
        course={
            "assignments_scale_assignment_toml": 'title = "S"\n[exports.Scale.forward]\n'
            'arguments = ["x"]\n',
            "solutions_scale_scale_py": "import torch\nclass Scale(torch.nn.Module):\n"
            "    factor = 3\n    def forward(self, x):\n        return x * self.factor\n",
            "solutions_scale_accepted_sum_py": "import torch\nclass Scale(torch.nn.Module):\n"
            "    def forward(self, x):\n        return x * 3\n",
            "solutions_scale_faults_toml": '[four]\nedit = [["factor = 3", "factor = 4"]]\n'
            'belief = "b"\nmessage = "m"\nhint = "h"\nfails = ["values"]\n',
        },
    )
    (rejection,) = found.rejections
    assert rejection.answers == ["sum.py"]
    assert "nothing of this name" in rejection.message or "has no attribute" in rejection.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x = 1\n", "There is no test in it"),
        ("def test_(:\n", "It cannot be imported"),
        ("from scale import scales\n", "line 1: ImportError"),
        ("import pytest\ndef test_a():\n    pytest.skip('later')\n", "Every test was skipped"),
        ("import pytest\ndef test_a():\n    pytest.exit('enough')\n", "interrupted"),
        ("def test_a(tmp_path):\n    pass\n", ""),
    ],
)
def test_tests_that_cannot_be_run_are_not_valid(hand_in, text, said):
    found = hand_in(text)
    assert not found.valid
    assert said in found.message
    assert bool(found.message) != bool(found.rejections)


def test_random_numbers_are_shared_with_the_subject(hand_in):
    found = hand_in(
        """
import torch
from scale import scale
def test_seed():
    torch.manual_seed(3)
    mine = torch.rand(2), torch.rand(2), torch.rand(2)
    torch.manual_seed(3)
    first, theirs, last = torch.rand(2), scale(torch.zeros(2)), torch.rand(2)
    assert [x.tolist() for x in (first, theirs, last)] == [x.tolist() for x in mine]
""",
        course={
            "solutions_scale_scale_py": "import torch\ndef scale(x):\n    y = torch.rand(2) * 1\n"
            "    return x + y\n",
            "solutions_scale_accepted_sum_py": "",
            "solutions_scale_faults_toml": '[shifted]\nedit = [["x + y", "x + y + 1"]]\n'
            'belief = "b"\nmessage = "m"\nhint = "h"\nfails = ["values"]\n',
        },
    )
    assert (found.valid, found.caught) == (True, 1)


def test_faults_that_no_test_can_see_do_not_count(hand_in):
    policy = '[policy]\nedit = [["x * 3", "3 * x"]]\nbelief = "b"\nmessage = "m"\nhint = "h"\n'
    values = policy.replace("[policy]", "[seen]").replace("3 * x", "x * 4")
    toml = f'{policy}fails = ["policy", "device"]\n{values}fails = ["policy", "values"]\n'
    found = hand_in(THOROUGH, course={"solutions_scale_faults_toml": toml})
    assert [entry.slug for entry in found.details] == ["seen"]
    assert found.percent == 100


def test_points_are_a_share_rounded_down_and_none_for_tests_that_reject_what_is_right(hand_in):
    course = {
        "assignments_scale_assignment_toml": 'title = "S"\n[exports.scale]\narguments = ["x"]\n'
        "[tests]\npoints = 10\n"
    }
    zero = (
        "import torch\nfrom scale import scale\ndef test_a():\n    assert scale(torch.zeros(1)) =="
    )
    scores = [hand_in(text, course=course).score for text in (THOROUGH, f"{zero}1\n", f"{zero}2\n")]
    assert [(score.earned, score.possible) for score in scores] == [(10, 10), (3, 10), (0, 10)]


@pytest.mark.parametrize("assignment", ["attention", "mha"])
def test_weak_and_wrong_tests_of_an_assignment_of_the_course(measure_file, assignment):
    weak = measure_file(assignment, "weak", most_faults=12)
    assert weak.valid, weak
    assert weak.percent < 50
    wrong = measure_file(assignment, "wrong", most_faults=1)
    assert not wrong.valid
    assert len(wrong.rejections) == 1


@pytest.mark.parametrize("assignment", ["attention", *(["mha"] if ALL else [])])
def test_strong_tests_of_an_assignment_of_the_course(measure_file, assignment):
    strong = measure_file(assignment, "strong", most_faults=12)
    assert strong.valid, (strong.message, strong.rejections)
    assert strong.percent == 100, [entry.slug for entry in strong.details if not entry.caught_by]
