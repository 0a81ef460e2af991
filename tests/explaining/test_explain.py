"""``grade explain``: where wrong submissions leave the path, and what is never said."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from grader.cli.main import run
from grader.course.loading import load_course
from grader.course.model import CourseError
from grader.course.steps import STEPS_FILE, load_steps
from grader.explaining.walk import most_telling, walk
from grader.session import client
from grader.session.client import GradingProcess
from grader.session.protocol import Demonstrated, Job

from ..toy import make_course

ROOT = Path(__file__).parents[2]
COURSE = load_course(ROOT)
WRONG = ROOT / "tests" / "submissions" / "attention" / "wrong"
WITH_STEPS = [id for id, one in COURSE.assignments.items() if (one.directory / STEPS_FILE).exists()]

TOY_STEPS = """
[[example]]
demonstration = "the example"
inputs = {x = [1.0, 2.0]}
[[example.step]]
name = "tripled"
says = "Three times x."
value = [3.0, 6.0]
[[example.step]]
name = "output"
says = "Plus one."
ask = "What is scale(0)?"
value = [4.0, 7.0]
returned = true
"""


@pytest.fixture(scope="session")
def process() -> Iterator[GradingProcess]:
    with GradingProcess() as started:
        yield started


@pytest.fixture
def explain(process, monkeypatch, capfd):
    """Runs the command with a warm process in place of one of its own."""

    class Warm:
        def __init__(self, *, isolate: bool) -> None:
            pass

        def __enter__(self):
            return process

        def __exit__(self, *_):
            pass

    monkeypatch.setattr(client, "GradingProcess", Warm)

    def run_command(*arguments: object) -> tuple[int, str, str]:
        capfd.readouterr()
        code = run(["explain", *map(str, arguments)])
        return code, *capfd.readouterr()

    return run_command


def demonstrated(process: GradingProcess, submission: Path, assignment: str) -> Demonstrated:
    job = Job(submission=str(submission), course=str(ROOT), assignment=assignment, seed=0)
    return process.demonstrate(job)


@pytest.mark.parametrize("id", WITH_STEPS)
def test_the_reference_walks_the_whole_path(process, id):
    assignment = COURSE.assignments[id]
    shown = {
        one.title: one for one in demonstrated(process, assignment.reference, id).demonstrations
    }
    examples = load_steps(assignment)
    assert examples
    for example in examples:
        results = shown[example.demonstration].yours
        assert {step.name for step in example.step if step.returned} <= set(results)
        assert walk(example, results).at is None, example.demonstration


@pytest.mark.parametrize(
    ("name", "step", "fact"),
    [
        ("no_scale", "scaled", "the numbers of step 1"),
        ("scale_by_width", "scaled", "times 0.707"),
        ("softmax_over_queries", "weights", "Each column of yours sums to 1"),
        ("mask_inverted", "masked", "the other way round"),
        ("mask_zero_fill", "masked", "2 places are seen and should be blocked"),
        ("mask_ignored", "masked", "step 3 (masked) changed nothing"),
        ("double_softmax", "weights", "softmax was taken twice"),
        ("key_value_swapped", None, ""),
    ],
)
def test_where_a_wrong_submission_leaves_the_path(process, name, step, fact):
    examples = load_steps(COURSE.assignments["attention"])
    shown = demonstrated(process, WRONG / f"{name}.py", "attention").demonstrations
    results = {one.title: one.yours for one in shown if not one.message}
    found = most_telling(
        [walk(one, results[one.demonstration]) for one in examples if one.demonstration in results]
    )
    if step is None:
        assert found is None or found.at is not None
        return
    assert found is not None
    assert found.at is not None
    assert (found.example.step[found.at].name, fact in found.fact) == (step, True)


class TestCommand:
    def test_theirs_stand_beside_the_expected_where_they_leave_the_path(self, explain):
        code, out, err = explain("attention", WRONG / "no_scale.py")
        assert (code, err) == (0, "")
        before, after = out.split("2. scaled: here you leave the path")
        assert "yours" not in before
        assert re.search(r"yours +1\.000  0\.000\n +expected +0\.707  0\.000", after)
        assert re.search(r"yours +7\.311  5\.379\n +expected +6\.698  6\.605", after)
        assert max(map(len, out.splitlines())) <= 80
        reference = COURSE.assignments["attention"].reference.read_text()
        code_lines = [line.strip() for line in reference.splitlines() if "=" in line]
        assert not [line for line in code_lines if line in out]

    def test_all_is_right(self, explain):
        code, out, _ = explain("attention", ROOT / "solutions/attention/attention.py")
        assert code == 0
        assert "at every step that shows" in out

    def test_a_stub_is_shown_what_a_right_answer_does(self, explain):
        code, out, _ = explain("attention", ROOT / "assignments/attention/attention.py")
        assert code == 0
        assert "Not started." in out
        assert "1. scores" in out
        assert "yours" not in out

    def test_nothing_private_is_needed(self, explain, tmp_path):
        course = make_course(
            tmp_path / "course",
            solutions_scale_scale_py="",
            solutions_scale_faults_toml="",
            tests_hidden_test_scale_py="",
        )
        stub = course / "assignments" / "scale" / "scale.py"
        (stub.parent / STEPS_FILE).write_text(TOY_STEPS)
        stub.write_text("def scale(x):\n    return x * 3\n")
        code, out, _ = explain("scale", "--course", course)
        assert code == 0
        assert "2. output: here you leave the path" in out
        assert "These are the numbers of step 1, tripled." in out

    def test_without_steps_the_examples_are_shown(self, explain, tmp_path):
        course = make_course(tmp_path / "course")
        stub = course / "assignments" / "scale" / "scale.py"
        stub.write_text("def scale(x):\n    return x * 2 + 1\n")
        code, out, _ = explain("scale", "--course", course)
        assert code == 0
        assert "not written down" in out
        assert re.search(r"yours +3\.000  5\.000\n +expected +4\.000  7\.000", out)

    def test_code_that_does_not_run(self, explain, tmp_path):
        (tmp_path / "attention.py").write_text("def scaled_dot_product_attention(:\n")
        code, out, _ = explain("attention", tmp_path / "attention.py", "--course", ROOT)
        assert code == 0
        assert "there is a syntax error at line 1" in out

    @pytest.mark.parametrize("words", [("atention",), ("attention", "nowhere.py")])
    def test_what_is_not_there(self, explain, words):
        code, out, err = explain(*words, "--course", ROOT)
        assert (code, out) == (2, "")
        assert "attention" in err or "no such file" in err


def test_a_list_of_steps_that_is_wrong_names_its_file(tmp_path):
    course = make_course(tmp_path / "course")
    (course / "assignments" / "scale" / STEPS_FILE).write_text(
        TOY_STEPS.replace("says =", "say =", 1)
    )
    with pytest.raises(CourseError, match=r"steps\.toml.*say"):
        load_steps(load_course(course).assignments["scale"])
