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
from grader.explaining.numbers import close
from grader.explaining.walk import Walk, clearest, walk
from grader.jobs import client
from grader.jobs.client import GradingProcess
from grader.jobs.protocol import Demonstrated, Job

from ..toy import make_course

ROOT = Path(__file__).parents[2]
COURSE = load_course(ROOT)
SUBMISSIONS = ROOT / "tests" / "submissions"
WRONG = SUBMISSIONS / "attention" / "wrong"

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


def left(process: GradingProcess, submission: Path, id: str) -> tuple[int, Walk]:
    """The example that is shown, counted from 1, and where the submission leaves its path."""
    results = {
        one.title: one.yours
        for one in demonstrated(process, submission, id).demonstrations
        if not one.message
    }
    examples = load_steps(COURSE.assignments[id])
    walked = [
        walk(one, results[one.demonstration]) for one in examples if one.demonstration in results
    ]
    found = clearest(walked)
    assert found is not None
    return examples.index(found.example) + 1, found


@pytest.mark.parametrize("id", COURSE.assignments)
def test_the_reference_walks_the_whole_path(process, id):
    assignment = COURSE.assignments[id]
    shown = {
        one.title: one for one in demonstrated(process, assignment.reference, id).demonstrations
    }
    examples = load_steps(assignment)
    assert examples
    for example in examples:
        results = shown[example.demonstration].yours
        assert example.results
        assert set(example.results.values()) <= set(results)
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
    _, found = left(process, WRONG / f"{name}.py", "attention")
    assert found.at is not None
    if step is not None:
        assert (found.example.step[found.at].name, fact in found.fact) == (step, True)


@pytest.mark.parametrize(
    ("submission", "example", "step", "fact"),
    [
        ("attention/wrong/fully_masked_nan", 4, "error", "returned a result"),
        ("attention/wrong/no_softmax", 1, "weights", "the numbers of step 2, scaled"),
        ("attention/wrong/log_weights", 1, "weights", "sum to -1.509"),
        ("masks/wrong/true_means_blocked", 1, "mask", "the other way round"),
        ("masks/wrong/strictly_before", 1, "mask", "misses its own key"),
        ("masks/wrong/offset_moves_keys", 2, "positions", "taken away"),
        ("masks/wrong/padding_from_the_longest", 3, "places", "not max_length"),
        ("masks/wrong/any_allows", 4, "mask", "that is OR"),
        ("mha/wrong/split_by_view", 2, "queries of each head", "cut straight"),
        ("mha/wrong/merged_by_view", 2, "output", "without changing the axes back"),
        ("mha/wrong/item_masks_on_heads", 2, "masked", "given to the two heads"),
        ("mqa/wrong/scale_of_the_model", 2, "scaled", "times 0.707"),
        ("mqa/wrong/split_by_view", 3, "queries of each head", "cut straight"),
        ("mqa/wrong/merge_by_reshape", 3, "weights", "without changing the axes back"),
        ("mqa/wrong/mask_never_passed_on", 3, "masked", "step 5 (masked) changed nothing"),
        ("mqa/wrong/batch_mask_on_heads", 4, "masked", "given to the two heads"),
        ("gqa/wrong/groups_tiled_by_cat", 1, "keys of each head", "take turns"),
        ("gqa/wrong/expanded_at_the_wrong_place", 1, "keys of each head", "for the keys alone"),
        ("gqa/wrong/scale_of_all_keys", 2, "scaled", "times 0.707"),
        ("mla/wrong/one_wide_head", 1, "queries of each head", "one wide head"),
        ("mla/wrong/latent_comes_first", 1, "c_kv", "the other way round"),
        ("mla/wrong/caches_keys_and_values", 1, "c_kv", "shape [1, 2, 8]"),
        ("mla_rope/wrong/normalised_latents", 1, "c_kv", "a norm behind the latent"),
        ("mla_rope/wrong/unturned_keys_in_cache", 1, "k_rope", "before it is turned"),
        ("mla_rope/wrong/positions_restart", 2, "positions", "the cache was not counted"),
        ("mla_rope/wrong/sdpa_is_causal_with_cache", 2, "masked", "at the top left"),
        ("mla_rope/wrong/mask_or_triangle", 3, "masked", "took the place of causality"),
        ("rope/wrong/base_from_the_book", 1, "frequencies", "0.01 a position"),
        ("rope/wrong/identity", 1, "angles", "Nothing is turned"),
        ("rope/wrong/two_at_once", 1, "angles", ""),
        ("rope/wrong/half_split", 1, "output", "halves of the vector"),
        ("rope/wrong/positions_never_used", 3, "positions", "not looked at"),
        ("cached_mha/wrong/no_scale", 2, "scaled", "times 1.732"),
        ("cached_mha/wrong/triangle_at_the_top_left", 4, "masked", "at the top left"),
        ("cached_mha/wrong/padding_of_the_prompt_forgotten", 6, "masked, second call", "forgotten"),
        ("cached_mha/wrong/pairs_half_a_head_apart", 8, "turned queries", "i + D/2"),
        ("sliding_window/wrong/one_key_too_many", 1, "masked", "one key too wide"),
        ("sliding_window/wrong/blocks", 1, "masked", "cut into blocks"),
        ("sliding_window/wrong/no_own_key", 1, "masked", "4 places are blocked"),
        ("sliding_window/wrong/scale_missing_and_no_check", 2, "scaled", "times 1.414"),
        ("online_softmax/wrong/pads_with_zeros", 1, "scores of block 2", "filled up with zeros"),
        ("online_softmax/wrong/no_rescaling", 1, "correction, block 2", "neither"),
        ("online_softmax/wrong/rescales_the_sum_only", 1, "mixture, block 2", "not corrected"),
        ("online_softmax/wrong/logsumexp_of_shifted", 1, "logsumexp", "largest was left out"),
        ("online_softmax/wrong/scale_missing", 2, "scores of block 1", "not divided"),
        ("transformer/wrong/norms_after_sums", 1, "normed", "behind the sums"),
        ("transformer/wrong/nobody_is_masked", 1, "weights", "nothing is blocked"),
        ("transformer/wrong/mask_given_as_it_is", 2, "weights", "True was taken for blocked"),
        ("transformer/wrong/shares_over_queries", 3, "moves", "later tokens come in"),
    ],
)
def test_the_first_wrong_step_of_every_assignment(process, submission, example, step, fact):
    path = SUBMISSIONS / f"{submission}.py"
    number, found = left(process, path, path.parts[-3])
    assert found.at is not None
    assert (number, found.example.step[found.at].name) == (example, step)
    assert fact in found.fact


@pytest.mark.parametrize("id", COURSE.assignments)
def test_slips_can_be_told_from_each_other_and_from_what_is_right(id):
    for example in load_steps(COURSE.assignments[id]):
        right = {name: example.step[place].value for place, name in example.results.items()}
        seen = [right]
        for slip in (slip for step in example.step for slip in step.slip):
            results = right | slip.results
            assert set(results) == set(right), slip.says
            alike = [one for one in seen if all(close(results[name], one[name]) for name in right)]
            assert not alike, slip.says
            seen.append(results)


class TestCommand:
    def test_theirs_stand_beside_the_expected_where_they_leave_the_path(self, explain):
        code, out, err = explain("attention", WRONG / "no_scale.py")
        assert (code, err) == (0, "")
        before, after = out.split("2. scaled: here your numbers differ")
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

    def test_the_example_that_differs_is_shown_and_says_which_it_is(self, explain):
        code, out, _ = explain("attention", WRONG / "mask_inverted.py")
        assert code == 0
        assert "Example 3 of 4: Three queries, four keys and a mask, step by step" in out
        assert "the other way round" in " ".join(out.split())

    def test_other_examples_that_differ_are_named(self, explain):
        _, out, _ = explain("attention", WRONG / "softmax_over_queries.py")
        assert "Example 1 of 4" in out
        assert "differ on other examples too: 2 (three queries and four keys)" in " ".join(
            out.split()
        )

    @pytest.mark.parametrize("which", ["2", "three queries and FOUR keys", "and four"])
    def test_an_example_can_be_named(self, explain, which):
        code, out, _ = explain("attention", WRONG / "no_scale.py", "--example", which)
        assert code == 0
        assert "Example 2 of 4: Three queries and four keys, step by step" in out
        assert "2. scaled: here your numbers differ" in out

    def test_a_named_example_on_which_all_is_right(self, explain):
        _, out, _ = explain("attention", WRONG / "mask_inverted.py", "--example", "1")
        assert "here your numbers differ" not in out
        assert "Here your numbers are right." in out
        assert "examples too: 3 (three queries, four keys and a mask)" in " ".join(out.split())

    @pytest.mark.parametrize("which", ["5", "0", "queries", "no such thing"])
    def test_an_example_that_is_not_there_or_may_be_several(self, explain, which):
        code, out, err = explain("attention", WRONG / "no_scale.py", "--example", which)
        assert (code, out) == (2, "")
        assert "1: the worked example; 2: three queries and four keys;" in err

    def test_what_is_raised_on_one_example_alone(self, explain, tmp_path):
        right = (ROOT / "solutions/attention/attention.py").read_text()
        broken = right.replace(
            "    if mask", "    if mask is not None:\n        oops()\n    if mask", 1
        )
        assert broken != right
        (tmp_path / "attention.py").write_text(broken)
        code, out, _ = explain("attention", tmp_path / "attention.py", "--course", ROOT)
        assert code == 0
        assert "Example 3 of 4" in out
        assert "oops" in out
        assert "This is what a right answer does:" in out

    def test_a_mask_is_shown_as_ones_and_zeros(self, explain):
        _, out, _ = explain("masks", SUBMISSIONS / "masks/wrong/strictly_before.py")
        assert re.search(r"yours +expected\n +0  0  0  0 +1  0  0  0\n", out)

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
        assert "2. output: here your numbers differ" in out
        assert "These are the numbers of step 1, tripled." in out

    def test_without_steps_the_examples_are_shown(self, explain, tmp_path):
        course = make_course(tmp_path / "course")
        stub = course / "assignments" / "scale" / "scale.py"
        stub.write_text("def scale(x):\n    return x * 2 + 1\n")
        code, out, _ = explain("scale", "--course", course)
        assert code == 0
        assert "has no steps" in " ".join(out.split())
        assert re.search(r"yours +3  5\n +expected +4  7", out)

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
