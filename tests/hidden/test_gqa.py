"""Hidden suite of `gqa`.

Every size is distinct, so that no axis can stand in for another: B 4, H 6, G 3, H / G 2, T 5, D 7,
C 42.
"""

import pytest
import torch
from support_layers import RANKS, Grouped, assert_equals_reference, mask_of_rank
from support_layers_dropout import (
    assert_dropout_on_weights,
    assert_no_dropout_at_rate_zero,
    assert_no_dropout_in_eval,
)
from support_layers_heads import (
    assert_heads_apart,
    assert_keys_axis,
    assert_output_projection,
    assert_own_values,
    assert_rows,
    assert_scale,
)
from support_layers_masks import (
    assert_all_true_is_none,
    assert_low_scores,
    assert_mask_meaning,
    assert_mask_of_rank,
    assert_no_influence,
    assert_no_leak,
)
from support_layers_numbers import (
    assert_any_layout,
    assert_dtype_kept,
    assert_inputs_untouched,
    assert_items_independent,
    assert_large_scores,
    assert_nothing_remembered,
    assert_right_gradients,
    assert_runs_on_meta,
    assert_sizes,
)
from support_layers_parameters import (
    assert_all_trained,
    assert_loads,
    assert_parameter_count,
)
from support_layers_probes import (
    outcome,
    outcome_of_calls,
    outcome_of_construction,
    outcome_of_counting,
    outcome_of_dropout,
    outcome_of_dtype,
    outcome_of_gradients,
    outcome_of_inputs,
    outcome_on_meta,
)

from grader.suite import (
    CheckFailure,
    assert_close,
    assert_finite,
    assert_not_forbidden,
    assert_raises,
    assert_shape,
    check,
    probe,
)

B, H, G, T, D = 4, 6, 3, 5, 7
MAIN = Grouped(H, D, G)
WIDE = Grouped(4, 10, 2)
"""A head is wide enough to show the weights of 4 tokens twice."""

HEADS_AND_GROUPS = [(6, 3), (6, 2), (8, 2), (4, 1), (6, 6)]


# -- making one ------------------------------------------------------------------------------------


def assert_groups(found, setting, what):
    """``found`` is the group whose ``what`` each head takes; None where it takes no single one."""
    if found == setting.group_of:
        return
    if found == [head % setting.groups for head in range(setting.heads)]:
        raise CheckFailure(
            f"Query head h takes the {what} of group h mod G: the groups are repeated as a whole. "
            "Neighbouring heads have to share a group, h // (H / G)."
        )
    if None in found:
        raise CheckFailure(f"A query head takes the {what} of no group, or of several at once.")
    if len(set(found)) == 1:
        raise CheckFailure(f"All query heads take the {what} of one group.")
    raise CheckFailure(
        f"Some query heads take the {what} of another group than h // (H / G).",
        f"heads take groups {found}, expected {setting.group_of}",
    )


@check(
    "errors",
    points=1,
    title="A width that the heads do not divide raises an error in the constructor",
    hint="What is C / H for C = 14 and H = 4? When would the first line of yours notice?",
)
@pytest.mark.parametrize("sizes", [(14, 4, 2), (3, 6, 3), (20, 3, 1)], ids=str)
def test_width_not_divisible(student, draw, sizes):
    width, heads, groups = sizes
    MAIN.build(student, MAIN.weights(draw))
    with assert_raises(ValueError, AssertionError, when="num_heads does not divide embed_dim"):
        student.GroupedQueryAttention(embed_dim=width, num_heads=heads, num_kv_groups=groups)


@check(
    "errors",
    points=1,
    title="Heads that the groups do not divide raise an error in the constructor",
    hint="How many query heads has each of 4 groups, if there are 6?",
)
@pytest.mark.parametrize("sizes", [(24, 6, 4), (12, 4, 3), (24, 3, 6)], ids=str)
def test_heads_not_divisible(student, draw, sizes):
    width, heads, groups = sizes
    MAIN.build(student, MAIN.weights(draw))
    with assert_raises(ValueError, AssertionError, when="num_kv_groups does not divide num_heads"):
        student.GroupedQueryAttention(embed_dim=width, num_heads=heads, num_kv_groups=groups)


@check(
    "parameters",
    points=2,
    title="Weights that are loaded are the weights that are used",
    hint="If you wrote load_weights: does each name reach the right place, whole?",
)
def test_loading(student, draw):
    assert_loads(MAIN, student, draw, B, T)


@check(
    "parameters",
    points=2,
    title="W_k and W_v are G times D wide, whatever H and G are",
    hint="How many key heads are there, and how wide is each of them?",
)
@pytest.mark.parametrize("heads_groups", HEADS_AND_GROUPS, ids=str)
def test_number_of_parameters(student, draw, heads_groups):
    heads, groups = heads_groups
    assert_parameter_count(Grouped(heads, 5, groups), student, draw)


@check(
    "parameters",
    points=2,
    title="Every weight is trained: gradients reach every key and every value head",
    hint="Is a parameter kept where PyTorch does not look, left out of forward, or detached?",
)
@pytest.mark.parametrize("heads_groups", [(6, 3), (6, 2), (8, 2)], ids=str)
def test_every_weight_is_trained(student, draw, heads_groups):
    heads, groups = heads_groups
    assert_all_trained(Grouped(heads, D, groups), student, draw, B, T)


# -- shape -----------------------------------------------------------------------------------------


@check(
    "shape",
    points=1,
    title="The output is (B, T, C), whatever the sizes",
    hint="Write the shape of each intermediate result beside its line. Which line changes them?",
)
@pytest.mark.parametrize(
    ("setting", "batch", "length"),
    [(MAIN, B, T), (Grouped(4, 3, 2), 5, 7), (Grouped(9, 2, 3), 5, 11)],
    ids=["6-3", "4-2", "9-3"],
)
def test_shapes(student, draw, setting, batch, length):
    made = setting.build(student, setting.weights(draw))
    output = made(draw.normal(batch, length, setting.width))
    assert_shape(output, [("B", batch), ("T", length), ("C", setting.width)], "output")


@check(
    "shape",
    points=1,
    title="Axes of size 1 stay: one item, one token, one head, one column a head",
    hint="Does something drop axes of size 1, such as squeeze()?",
)
def test_axes_of_size_one(student, draw):
    cases = [(MAIN, 1, T), (MAIN, B, 1), (Grouped(1, 6, 1), B, T), (Grouped(6, 1, 2), B, 5)]
    assert_sizes(student, draw, [*cases, (Grouped(1, 1, 1), 1, 1)])


# -- weights ---------------------------------------------------------------------------------------


@check(
    "row-sum",
    points=2,
    title="Each query of each head shares out exactly 1 among the tokens",
    hint="What has to be true of the weights of one query, however many tokens there are?",
)
def test_rows_sum_to_one(student, draw):
    assert_rows(MAIN, student, draw, B, T)


@check(
    "wrong-axis",
    points=2,
    title="The weights are normalised over the keys and over no other axis",
    hint="A query shares out 1 among the keys. Which axis are the keys on?",
)
def test_normalised_over_the_keys(student, draw):
    assert_keys_axis(MAIN, student, draw, B, T)


@check(
    "scale",
    points=2,
    title="Scores are divided by the square root of the head width D",
    hint="Is it the width of a token or of a head that a score is a sum over?",
)
@pytest.mark.parametrize("setting", [MAIN, Grouped(10, 11, 5)], ids=["6-3", "10-5"])
def test_ratio_of_two_keys(student, setting):
    others = {
        "with the root of embed_dim": setting.width**0.5,
        "with the root of the number of heads": setting.heads**0.5,
        "with the root of the number of groups": setting.groups**0.5,
        "with the root of the width of all keys": (setting.groups * setting.head_width) ** 0.5,
    }
    assert_scale(setting, student, others)


@check(
    "heads",
    points=2,
    title="Query head h takes the keys of group h // (H / G)",
    hint="With 6 heads and 3 groups, which heads share the first group? Write down all six.",
    shows="which group each head takes its values from",
)
@pytest.mark.parametrize("heads_groups", HEADS_AND_GROUPS, ids=str)
def test_group_of_the_keys(student, draw, heads_groups):
    heads, groups = heads_groups
    setting = Grouped(heads, D, groups)
    weights = setting.showing(setting.weights(draw), T)
    x = setting.tokens(draw, B, T)
    found = [[] for _ in range(heads)]
    for group in range(groups):
        # Keys that are 0 give equal weights to all tokens.
        keys = torch.zeros_like(weights["W_k"])
        rows = slice(group * D, (group + 1) * D)
        keys[rows] = weights["W_k"][rows]
        read = setting.read(setting.build(student, {**weights, "W_k": keys}), x)
        for head in range(heads):
            shares = read[:, head]
            if bool((shares.amax(-1) - shares.amin(-1) > 1e-3).any()):
                found[head].append(group)
    assert_groups([g[0] if len(g) == 1 else None for g in found], setting, "keys")


@check(
    "heads",
    points=2,
    title="Query head h takes the values of group h // (H / G)",
    hint="With 6 heads and 3 groups, which heads share the first group? Write down all six.",
    shows="which group each head takes its values from",
)
@pytest.mark.parametrize("heads_groups", HEADS_AND_GROUPS, ids=str)
def test_group_of_the_values(student, draw, heads_groups):
    heads, groups = heads_groups
    setting = Grouped(heads, D, groups)
    weights = {**setting.weights(draw), "W_o": torch.eye(setting.width)}
    # The values of a group are its number, at every token and in every column.
    weights["W_v"] = torch.zeros(groups, D, setting.width)
    weights["W_v"][..., 0] = torch.arange(groups).unsqueeze(-1)
    weights["W_v"] = weights["W_v"].flatten(0, 1)
    x = draw.normal(B, T, setting.width)
    x[..., 0] = 1.0
    output = setting.output(setting.build(student, weights), x)
    assert_finite(output, "output")
    found = []
    for head in output.unflatten(-1, (heads, D)).unbind(-2):
        number = float(head.flatten()[0])
        whole = bool(((head - round(number)).abs() < 1e-3).all())
        found.append(round(number) if whole else None)
    assert_groups(found, setting, "values")


@check(
    "heads",
    points=2,
    title="The weights of head h come from its own queries, and land in its own columns",
    hint="Split C into (H, D) first; only then may axes change places.",
)
@pytest.mark.parametrize("setting", [MAIN, Grouped(8, 9, 2)], ids=["6-3", "8-2"])
def test_weights_of_each_head(student, draw, setting):
    assert_heads_apart(setting, student, draw, B, T)


@check(
    "heads",
    points=2,
    title="Each head hands on its group's value, and heads lie side by side in the output",
    hint="Which two axes have to change places before heads and columns become one axis again?",
)
@pytest.mark.parametrize("setting", [MAIN, Grouped(8, 5, 2)], ids=["6-3", "8-2"])
def test_values_of_each_head(student, draw, setting):
    assert_own_values(setting, student, draw, B, T)


# -- values ----------------------------------------------------------------------------------------


@check(
    "values",
    points=2,
    title="The output is right for every way to share heads, with weights that were loaded",
    hint="Follow the handout's worked example line by line with your own intermediate results.",
)
@pytest.mark.parametrize("heads_groups", HEADS_AND_GROUPS, ids=str)
def test_values(student, reference, draw, heads_groups):
    heads, groups = heads_groups
    setting = Grouped(heads, 5, groups)
    x = draw.normal(3, 7, setting.width)
    assert_equals_reference(setting, student, reference, draw, x)


@check(
    "values",
    points=2,
    title="As many groups as heads is multi-head attention, one group is multi-query attention",
    hint="What is left to repeat if G = H, and what if G = 1?",
)
@pytest.mark.parametrize("groups", [H, 1], ids=["multi-head", "multi-query"])
def test_ends_of_the_range(student, draw, groups):
    setting = Grouped(H, D, groups)
    weights, x, mask = setting.weights(draw), draw.normal(B, T, H * D), draw.mask(T, T)
    wanted, _ = setting.plain(x, weights, mask)
    output = setting.output(setting.build(student, weights), x, mask)
    kind = "multi-head" if groups == H else "multi-query"
    words = f"With this number of groups the output has to be that of {kind} attention."
    assert_close(output, wanted, "output", message=words)


@check(
    "values",
    points=2,
    title="The merged heads go through W_o, once and the right way round",
    hint="What does nn.Linear compute from its weight, and does every output pass through W_o?",
)
def test_output_projection(student, draw):
    assert_output_projection(MAIN, student, draw, B, T)


# -- mask ------------------------------------------------------------------------------------------


@check(
    "mask",
    points=2,
    title="True means allowed, and blocked keys drop out before softmax",
    hint="Look at one row: which weights are 0, and do the others still sum to 1?",
)
def test_mask_meaning(student, draw):
    assert_mask_meaning(MAIN, student, draw, B, T)


@check(
    "mask",
    points=2,
    title="Masks of every declared rank mean what their axes say",
    hint="Where is the heads' axis in a mask of four axes, and where is it missing in one of 3?",
)
@pytest.mark.parametrize("rank", RANKS)
def test_mask_ranks(student, draw, rank):
    assert_mask_of_rank(MAIN, student, draw, rank, B, T)


@check(
    "mask",
    points=1,
    title="With as many items as heads, a mask (B, T, S) still belongs to the items",
    hint="Which axis of (B, H, T, S) does PyTorch line a three-axis mask up with?",
)
@pytest.mark.parametrize("rank", RANKS)
def test_mask_ranks_where_batch_equals_heads(student, draw, rank):
    assert_mask_of_rank(MAIN, student, draw, rank, H, T)


@check(
    "mask",
    points=2,
    title="A blocked token has no influence, however large it is or low the others' scores",
    hint="Which number can a blocked score be that no other score can beat?",
)
def test_blocked_tokens_have_no_influence(student, draw):
    assert_no_influence(MAIN, student, draw, B, T)
    assert_low_scores(MAIN, student, T)


@check(
    "mask",
    points=1,
    title="A mask that allows everything equals no mask",
    hint="What does your code do with a mask that has nothing to block?",
)
def test_all_true_equals_none(student, draw):
    assert_all_true_is_none(MAIN, student, draw, B, T)


@check(
    "causal-leak",
    points=2,
    title="Under a causal mask no output depends on a later token",
    hint="Change the last token. Which rows of the output may move?",
)
def test_no_leak_from_later_tokens(student, draw):
    assert_no_leak(MAIN, student, draw, B, T)


# -- dropout ---------------------------------------------------------------------------------------


@check(
    "dropout",
    points=1,
    title="In training, dropout acts on the attention weights after softmax",
    hint="Which tensor holds the shares that a query gives out? Drop some of those.",
)
def test_dropout_in_training(student, draw):
    assert_dropout_on_weights(WIDE, student, draw, 6, 4)


@check(
    "dropout",
    points=1,
    title="In evaluation nothing is dropped",
    hint="How does your dropout learn of model.eval()?",
)
def test_no_dropout_in_evaluation(student, draw):
    assert_no_dropout_in_eval(MAIN, student, draw, B, T)


@check(
    "dropout",
    points=1,
    title="At rate 0, the default, training changes nothing",
    hint="What is dropped if nobody gives a rate?",
)
def test_rate_zero(student, draw):
    assert_no_dropout_at_rate_zero(MAIN, student, draw, B, T)


# -- numbers ---------------------------------------------------------------------------------------


@check(
    "numerics",
    points=1,
    title="Large scores give finite and right results",
    hint="exp(100) is more than float32 holds. What may be subtracted from a row before exp?",
)
def test_large_scores(student, draw):
    assert_large_scores(MAIN, student, draw, B, T)


@check(
    "gradient",
    points=1,
    title="The gradient of the input is right",
    shows="which inputs the gradient reaches",
    hint="Is anything detached, converted to numbers, or computed without grad?",
)
@pytest.mark.parametrize("rank", [None, "(T, S)"], ids=["no mask", "mask"])
def test_gradient(student, reference, draw, rank):
    mask = None if rank is None else mask_of_rank(draw, rank, B, H, T)
    assert_right_gradients(MAIN, student, reference, draw, B, T, mask)


@check(
    "dtype",
    points=1,
    title="float32 in, float32 out; float64 in, float64 out",
    hint="Does a line name a dtype, or make a tensor of its own with the default one?",
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_float64(student, draw, dtype):
    assert_dtype_kept(MAIN, student, draw, dtype, B, T)


@check(
    "dtype",
    points=1,
    title="bfloat16 in, bfloat16 out",
    hint="Does a line name a dtype, or make a tensor of its own with the default one?",
)
def test_bfloat16(student, draw):
    assert_dtype_kept(MAIN, student, draw, torch.bfloat16, B, T)


@check(
    "device",
    points=1,
    title="Runs on whatever device its input and parameters are on",
    hint="Does a line name a device, or make a tensor without asking x where it is?",
)
def test_no_device_of_its_own(student, draw):
    assert_runs_on_meta(MAIN, student, draw, B, T)


# -- manners ---------------------------------------------------------------------------------------


@check(
    "purity",
    points=1,
    title="x and mask stay as they were",
    hint="Does a line work in place (+=, masked_fill_, mul_) on something that came from outside?",
)
def test_inputs_untouched(student, draw):
    assert_inputs_untouched(MAIN, student, draw, B, T)


@check(
    "purity",
    points=1,
    title="A call leaves nothing behind for the next one",
    hint="What does forward keep in self, and is it still right for other inputs?",
)
def test_nothing_remembered(student, draw):
    assert_nothing_remembered(MAIN, student, draw, B, T)


@check(
    "batch",
    points=1,
    title="The items of a batch do not see each other",
    hint="Change one item. May another item's output move?",
)
def test_items_are_independent(student, draw):
    assert_items_independent(MAIN, student, draw, 4, T)


@check(
    "layout",
    points=1,
    title="The input need not be contiguous in memory",
    hint="view() wants contiguous memory; reshape() does not.",
)
def test_input_that_is_not_contiguous(student, draw):
    assert_any_layout(MAIN, student, draw, B, T)


@check(
    "policy",
    points=1,
    title="Written without enable_gqa",
    hint="The point here is to share the key and value heads among the query heads yourself.",
)
def test_heads_shared_by_hand(student, draw, forbidden_uses):
    MAIN.output(MAIN.build(student, MAIN.weights(draw)), draw.normal(B, T, MAIN.width))
    assert_not_forbidden(forbidden_uses)


# -- probes ----------------------------------------------------------------------------------------

SIZES = (
    {"setting": Grouped(6, 5, 3), "batch": 2, "length": 4},
    {"setting": Grouped(8, 3, 2), "batch": 3, "length": 5},
)


@probe(*SIZES)
def probe_unmasked(student, draw, setting, batch, length):
    return outcome(setting, student, draw, draw.normal(batch, length, setting.width))


@probe(*({**sizes, "rank": rank} for rank in RANKS for sizes in SIZES))
def probe_masked(student, draw, setting, batch, length, rank):
    mask = mask_of_rank(draw, rank, batch, setting.heads, length)
    return outcome(setting, student, draw, draw.normal(batch, length, setting.width), mask)


@probe({"setting": Grouped(6, 5, 3), "length": 4}, {"setting": Grouped(4, 3, 2), "length": 5})
def probe_batch_equals_heads(student, draw, setting, length):
    mask = mask_of_rank(draw, "(B, T, S)", setting.heads, setting.heads, length)
    return outcome(setting, student, draw, draw.normal(setting.heads, length, setting.width), mask)


@probe(*SIZES)
def probe_calls_in_a_row(student, draw, setting, batch, length):
    return outcome_of_calls(setting, student, draw, batch, length)


@probe(*SIZES)
def probe_allowed_scores_are_low(student, draw, setting, batch, length):
    x = draw.normal(batch, length, setting.width)
    x[:, 1:] *= 3e3
    mask = torch.eye(length, dtype=torch.bool).roll(1, 0) | torch.eye(length, dtype=torch.bool)
    return outcome(setting, student, draw, x, mask)


@probe(*SIZES)
def probe_large(student, draw, setting, batch, length):
    return outcome(setting, student, draw, 30 * draw.normal(batch, length, setting.width))


@probe(*SIZES)
def probe_gradients(student, draw, setting, batch, length):
    return outcome_of_gradients(setting, student, draw, batch, length)


@probe(
    {"setting": WIDE, "batch": 6, "length": 4},
    {"setting": Grouped(6, 8, 3), "batch": 5, "length": 3},
)
def probe_dropout(student, draw, setting, batch, length):
    return outcome_of_dropout(setting, student, draw, batch, length)


@probe(
    {"embed_dim": 14, "num_heads": 4, "num_kv_groups": 2},
    {"embed_dim": 15, "num_heads": 6, "num_kv_groups": 3},
    {"embed_dim": 24, "num_heads": 6, "num_kv_groups": 4},
    {"embed_dim": 10, "num_heads": 5, "num_kv_groups": 4},
    {"embed_dim": 24, "num_heads": 3, "num_kv_groups": 6},
    {"embed_dim": 30, "num_heads": 5, "num_kv_groups": 1},
    {"embed_dim": 30, "num_heads": 5, "num_kv_groups": 5},
)
def probe_construction(student, draw, **options):
    return outcome_of_construction(MAIN, student, **options)


@probe(*SIZES)
def probe_count(student, draw, setting, batch, length):
    return outcome_of_counting(setting, student, draw)


@probe(*SIZES)
def probe_inputs_afterwards(student, draw, setting, batch, length):
    return outcome_of_inputs(setting, student, draw, batch, length)


@probe(*({**s, "dtype": dtype} for s in SIZES for dtype in (torch.float64, torch.bfloat16)))
def probe_dtype(student, draw, setting, batch, length, dtype):
    return outcome_of_dtype(setting, student, draw, dtype, batch, length)


@probe(*SIZES)
def probe_meta(student, draw, setting, batch, length):
    return outcome_on_meta(setting, student, draw, batch, length)


@probe(*SIZES)
def probe_not_contiguous(student, draw, setting, batch, length):
    x = draw.normal(length, setting.width, batch).permute(2, 0, 1)
    return outcome(setting, student, draw, x)


@probe({"heads": 6, "groups": 6}, {"heads": 6, "groups": 2}, {"heads": 5, "groups": 1})
def probe_ends_of_the_range(student, draw, heads, groups):
    setting = Grouped(heads, 4, groups)
    return outcome(setting, student, draw, draw.normal(2, 3, setting.width))


@probe({"batch": 1, "length": 3}, {"batch": 2, "length": 1})
def probe_axes_of_size_one(student, draw, batch, length):
    return outcome(MAIN, student, draw, draw.normal(batch, length, MAIN.width))
