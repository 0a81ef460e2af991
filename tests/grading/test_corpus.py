"""Submissions as they are handed in, graded by the real processes: messy, broken, from the lab."""

from __future__ import annotations

import re

import pytest

from grader.report.model import Status, Visibility

from .conftest import SUBMISSIONS

MESSY = {
    "attention (1).py": [],
    "bom.py": [],
    "callable_object.py": [],
    "colab_export.py": ["notebook understands .* were left out: line 7; line 12"],
    "crlf.py": [],
    "dataclass_annotations.py": [],
    "default_dtype.py": ["sets the default dtype to float64 .* undone for grading"],
    "demo_crashes.py": [r"raised FileNotFoundError .*tokens\.pt'\) at line 17"],
    "extra_options.py": [],
    "global_state.py": ["switches gradients off.* undone for grading"],
    "keyword_only_mask.py": [],
    "latin1_declared.py": ["Read as iso8859-1"],
    "list_pair.py": [],
    "main_guard.py": [],
    "named_pair.py": [],
    "notebook.ipynb": ["left out: cell 2, line 1"],
    "notebook_odd_lines.ipynb": ["left out: cell 2, line 1"],
    "notebook_v3.ipynb": ["left out: cell 2, line 1"],
    "other_names.py": [],
    "positional_only.py": [],
    "prints_everywhere.py": [],
    "tabs_and_no_last_newline.py": [],
    "trains_at_import.py*": [r"still running 1\.5 s after its import began"],
    "unicode_names.py": [],
    "windows1252.py": ["Read as Windows-1252"],
}


def names(folder: str, table: dict[str, object]) -> list[str]:
    return [f"{folder}/{name}" for name in table]


@pytest.mark.parametrize("name", names("messy", MESSY))
def test_a_mess_costs_nothing_and_is_said(corpus, name):
    report = corpus(name)
    lost = {check.id: check.message for check in report.checks if check.status != Status.PASSED}
    assert lost == {}
    assert report.score.earned == report.score.possible > 0
    expected = MESSY[name.removeprefix("messy/")]
    assert len(report.notes) == len(expected)
    for note, words in zip(report.notes, expected, strict=True):
        assert re.search(words, note)


def test_the_tables_name_every_file():
    for folder, table in (("messy", MESSY), ("broken", BROKEN), ("seeds", LOSES | KEEPS)):
        assert {name.rstrip("*") for name in table} == {
            path.name for path in (SUBMISSIONS / folder).iterdir() if path.is_file()
        }


WORKS_WITHOUT_RUNNING = {"written_by_hand"}
RAISES_AS_IT_SHOULD = {"written_by_hand", "query_without_keys"}
ONE_TENSOR_SHORT = r"has to return two tensors, \(output, weights\); yours returned "
RAISED = {"error", "failed"}
"""The check that wants an error fails where it is another one."""

BROKEN = {
    # file: statuses of what is lost, words of the first loss, what is kept (None: everything)
    "deep_nesting.py": ({"error"}, "syntax error at line 3.*nested", set()),
    "deep_signs.py": ({"error"}, "syntax error.*nested too deeply", set()),
    "empty.py": ({"not-run"}, "did not run", set()),
    "endless_call.py*": ({"timeout"}, "did not finish in time", ...),
    "endless_import.py*": (set(), "", None),
    "endless_import_before_definitions.py*": (set(), "", None),
    "endless_recursion.py": (RAISED, "RecursionError at line 4", WORKS_WITHOUT_RUNNING),
    "exit_import.py": (set(), "", None),
    "floods_output.py": (set(), "", None),
    "huge_tensor.py": (RAISED, "RuntimeError at line 7", WORKS_WITHOUT_RUNNING),
    "import_raises.py": (set(), "", None),
    "indentation_error.py": ({"error"}, "syntax error at line 13", set()),
    "keyboard_interrupt.py": (RAISED, "KeyboardInterrupt at line 4", WORKS_WITHOUT_RUNNING),
    "kills_itself.py": ({"crashed"}, "killed, perhaps for want of memory", set()),
    "memory_bomb.py*": (RAISED, "MemoryError at line 10", WORKS_WITHOUT_RUNNING),
    "missing_export.py": ({"error"}, r"does not define scaled_dot_product_attention\.$", set()),
    "missing_import.py": (RAISED, "No module named 'my_transformer_utils'", WORKS_WITHOUT_RUNNING),
    "misspelt_export.py": ({"error"}, "It defines scaled_dot_product_atention: is", set()),
    "no_mask_parameter.py": (RAISED, "cannot be called the way the assignment declares", ...),
    "not_callable.py": ({"error"}, "neither a function nor a class", set()),
    "null_bytes.py": ({"error"}, "null bytes", set()),
    "only_comments.py": ({"error"}, "does not define scaled_dot_product_attention", set()),
    "os_exit.py": ({"crashed"}, "it left with exit status 0", set()),
    "raises_long_message.py": (RAISED, "RuntimeError at line 4", WORKS_WITHOUT_RUNNING),
    "raises_markup.py": (RAISED, "TypeError at line 4", WORKS_WITHOUT_RUNNING),
    "raises_query.py": ({"error"}, "ValueError at line 9", RAISES_AS_IT_SHOULD),
    "raises_unprintable.py": (RAISED, "an exception of its own at line 11", WORKS_WITHOUT_RUNNING),
    "returns_complex.py": (RAISED, "returned complex numbers", RAISES_AS_IT_SHOULD),
    "returns_dict.py": ({"failed"}, ONE_TENSOR_SHORT + "a dict", RAISES_AS_IT_SHOULD),
    "returns_generator.py": (
        {"failed"},
        ONE_TENSOR_SHORT + "a generator",
        WORKS_WITHOUT_RUNNING,
    ),
    "returns_huge.py": ({"failed"}, "larger than this grader accepts", RAISES_AS_IT_SHOULD),
    "returns_lists.py": (RAISED, "your output is 3 values", RAISES_AS_IT_SHOULD),
    "returns_meta.py": (
        {"failed"},
        "a tensor without data",
        RAISES_AS_IT_SHOULD | {"no_device_of_its_own"},
    ),
    "returns_nan.py": ({"failed"}, "NaN", ...),
    "returns_none.py": ({"failed"}, ONE_TENSOR_SHORT + "None", set()),
    "returns_numpy.py": (RAISED, "your output is a NumPy array", RAISES_AS_IT_SHOULD),
    "returns_single.py": ({"failed"}, ONE_TENSOR_SHORT + "a single tensor", RAISES_AS_IT_SHOULD),
    "returns_sparse.py": (RAISED, "returned a sparse tensor", RAISES_AS_IT_SHOULD),
    "returns_string.py": ({"failed"}, "your output is a str", RAISES_AS_IT_SHOULD),
    "returns_swapped.py": ({"failed"}, "swapped|has to be", ...),
    "returns_three.py": ({"failed"}, ONE_TENSOR_SHORT + "3 values", RAISES_AS_IT_SHOULD),
    "segfault.py": ({"crashed"}, "crashed with a segmentation fault", set()),
    "syntax_error.py": ({"error"}, "syntax error at line 13.*never closed", set()),
    "sys_exit_call.py": (RAISED, "SystemExit at line 7", WORKS_WITHOUT_RUNNING),
    "utf16.py": (set(), "", None),
    "wrong_signature.py": (RAISED, "the way the assignment declares", WORKS_WITHOUT_RUNNING),
}


@pytest.mark.parametrize("name", names("broken", BROKEN))
def test_what_is_broken_is_said_and_scored(corpus, name):
    report = corpus(name)
    statuses, words, kept = BROKEN[name.removeprefix("broken/")]
    lost = [check for check in report.checks if check.status != Status.PASSED]
    passed = {check.id for check in report.checks if check.status == Status.PASSED}
    assert {str(check.status) for check in lost} <= statuses
    assert bool(lost) == bool(statuses)
    if lost:
        assert any(re.search(words, check.message) for check in lost)
        assert all(check.message for check in lost)
    if kept is None:
        assert not lost
    elif kept is not ...:
        assert passed == kept
    assert report.score.earned == sum(c.points for c in report.checks if c.id in passed)
    assert report.score.possible == sum(check.points for check in report.checks)
    assert all(check.earned in (0, check.points) for check in report.checks)


class TestWordsForWhatIsBroken:
    @pytest.mark.parametrize("name", ["broken/endless_call.py*"])
    def test_a_loop_costs_only_the_checks_that_it_is_in(self, corpus, name):
        status = {check.id: check.status for check in corpus(name).checks}
        for unmasked in ("worked_example", "shapes", "values_of_heads", "inputs_that_are_not"):
            matching = [status[check] for check in status if check.startswith(unmasked)]
            assert matching
            if unmasked != "inputs_that_are_not":  # this one has a mask, too
                assert set(matching) == {Status.PASSED}
        assert status["mask_meaning"] == Status.TIMEOUT
        assert Status.NOT_RUN not in status.values()

    @pytest.mark.parametrize("name", ["broken/syntax_error.py"])
    def test_the_line_is_shown(self, corpus, name):
        locations = {check.location for check in corpus(name).checks}
        (location,) = locations
        assert (location.line, location.text) == (13, "weights = torch.softmax(scores, dim=-1")

    @pytest.mark.parametrize("name", ["broken/empty.py"])
    def test_a_file_with_nothing_in_it_is_not_gradable(self, corpus, name):
        report = corpus(name)
        assert report.status == "not-gradable"
        assert "'empty.py': the file is empty" in report.message
        assert report.score.earned == 0 < report.score.possible

    @pytest.mark.parametrize("name", ["broken/floods_output.py"])
    def test_a_flood_is_cut(self, corpus, name):
        checks = corpus(name).checks
        outputs = [check.output for check in checks]
        # Its first call is made twice: in the worker of the public checks, and of the hidden ones.
        flooded = [check.visibility for check in checks if check.output.truncated]
        assert sorted(flooded) == ["hidden", "public"]
        assert max(len(output.text) for output in outputs) <= 64 * 1024

    @pytest.mark.parametrize("name", ["broken/raises_markup.py", "broken/raises_long_message.py"])
    def test_odd_messages_are_carried_and_cut(self, corpus, name):
        for check in corpus(name).checks:
            assert len(check.message) < 5000
            assert len(check.detail) < 5000

    @pytest.mark.parametrize("name", ["broken/kills_itself.py", "broken/no_mask_parameter.py"])
    def test_one_cause_is_told_once(self, corpus, name):
        lost = [check for check in corpus(name).checks if check.status != Status.PASSED]
        roots = [check for check in lost if check.because is None]
        assert len(roots) < len(lost) / 2

    @pytest.mark.parametrize("name", ["broken/raises_query.py"])
    def test_its_message_is_shown_where_it_came_with_public_inputs(self, corpus, name):
        public = [c for c in corpus(name).checks if c.visibility is Visibility.PUBLIC]
        assert any("tensor([[1., 0.]" in check.detail for check in public)


MASKED = {
    "blocked_keys_have_no_influence",
    "blocked_keys_lose_to_low_scores",
    "mask_before_softmax",
    "mask_broadcasts",
    "mask_meaning",
    "no_leak_from_later_keys",
    "only_the_first_key",
}
"""Lost by whoever lets blocked keys through, with what is masked among other things."""
ALSO_MASKED = {"bfloat16", "gradients", "inputs_that_are_not_contiguous"}
NUMBERS = {
    "bfloat16",
    "float64",
    "gradients",
    "gradients_of_weights",
    "inputs_that_are_not_contiguous",
    "mask_before_softmax",
    "mask_broadcasts",
    "values_of_a_batch",
    "values_of_cross_attention",
    "values_of_heads",
    "values_of_self_attention",
    "worked_example",
}
"""Lost by whoever has other weights."""
EMPTY_ROWS = {"query_without_keys"}

LOSES = {
    "class_with_a_global_mask.py": MASKED | ALSO_MASKED | EMPTY_ROWS,
    "divided_by_eight.py": NUMBERS | EMPTY_ROWS | {"ratio_of_two_keys"},
    "divided_by_width.py": NUMBERS | EMPTY_ROWS | {"ratio_of_two_keys"},
    "fill_result_dropped.py": MASKED | ALSO_MASKED | EMPTY_ROWS,
    "lab.py": {"mask_meaning", "inputs_untouched"},  # it wants bool masks, and says so
    "lab_any_mask.py": set(),
    "mask_matrix_added.py": MASKED | ALSO_MASKED | EMPTY_ROWS,
    "nan_for_empty_rows.py": EMPTY_ROWS,
    "raw_scores.py": NUMBERS
    | EMPTY_ROWS
    | {
        "blocked_keys_lose_to_low_scores",
        "large_scores",
        "mask_meaning",
        "no_leak_from_later_keys",
        "ratio_of_two_keys",
        "rows_sum_to_one",
    },
}
BY_CHANCE = {"dropout_in_function_pair.py": {"ratio_of_two_keys"}}
"""Kept if none of a few numbers is dropped, which each version of torch draws for itself."""

KEEPS = {
    "class_returns_value.py": {"written_by_hand"},
    "class_returns_value_pair.py": {
        "written_by_hand",
        "gradients_of_weights",
        "large_scores",
        "normalised_over_the_keys",
        "ratio_of_two_keys",
        "rows_sum_to_one",
    },
    "dropout_in_function.py": {"written_by_hand"},
    "dropout_in_function_pair.py": {
        "written_by_hand",
        "axes_of_size_one",
        "example_shapes",
        "inputs_untouched",
        "key_without_queries",
        "no_device_of_its_own",
        "normalised_over_the_keys",
        "output_is_weights_times_value",
        "shapes",
    },
    "fill_result_dropped_with_dropout.py": {"written_by_hand"},
}


@pytest.mark.parametrize("name", names("seeds", LOSES))
def test_what_the_labs_snippets_lose(corpus, name):
    report = corpus(name)
    lost = {check.id for check in report.checks if check.status != Status.PASSED}
    assert lost == LOSES[name.removeprefix("seeds/")]
    assert report.score.earned == sum(c.points for c in report.checks if c.id not in lost)


@pytest.mark.parametrize("name", names("seeds", KEEPS))
def test_what_the_labs_snippets_keep(corpus, name):
    report = corpus(name)
    kept = {check.id for check in report.checks if check.status == Status.PASSED}
    seed = name.removeprefix("seeds/")
    assert kept - BY_CHANCE.get(seed, set()) == KEEPS[seed]
    assert report.score.earned == sum(c.points for c in report.checks if c.id in kept)
