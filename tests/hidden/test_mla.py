"""Hidden suite of `mla`.

Every size is distinct, so that no axis can stand in for another: B 2, H 3, T 5, D 8, the latents
10 and 11, C 24. T is 2 or more wherever scores matter: at T = 1 every weight is 1.
"""

import pytest
import torch
from support_layers import RANKS, Latent, assert_equals_reference, mask_of_rank
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
    assert_not_forbidden,
    assert_raises,
    assert_shape,
    check,
    probe,
)

B, H, T, D = 2, 3, 5, 8
Q_LATENT, KV_LATENT = 10, 11
MAIN = Latent(H, D, Q_LATENT, KV_LATENT)
WIDE = Latent(2, 10, 7, 9)
"""A head is wide enough to show the weights of 4 tokens twice."""


# -- making one ------------------------------------------------------------------------------------


@check(
    "errors",
    points=2,
    title="A width that the heads do not divide raises an error in the constructor",
    hint="What is C / H for C = 14 and H = 4? When would the first line of yours notice?",
)
@pytest.mark.parametrize("sizes", [(14, 4), (3, 5), (20, 3)], ids=str)
def test_width_not_divisible(student, draw, sizes):
    width, heads = sizes
    MAIN.build(student, MAIN.weights(draw))
    with assert_raises(ValueError, AssertionError, when="num_heads does not divide embed_dim"):
        student.MultiHeadLatentAttention(
            embed_dim=width, num_heads=heads, q_latent_dim=6, kv_latent_dim=9
        )


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
    points=1,
    title="The parameters hold the six matrices of the handout, as wide as it says",
    hint="Which widths does each projection go between: token, latent, heads?",
)
@pytest.mark.parametrize(
    "setting", [MAIN, Latent(4, 5, 9, 3), Latent(2, 6, 20, 17)], ids=["main", "narrow", "wide"]
)
def test_number_of_parameters(student, draw, setting):
    assert_parameter_count(setting, student, draw)


@check(
    "parameters",
    points=1,
    title="Every weight is trained: gradients reach all six matrices",
    hint="Is a parameter kept where PyTorch does not look, left out of forward, or detached?",
)
def test_every_weight_is_trained(student, draw):
    assert_all_trained(MAIN, student, draw, B, T)


# -- shape -----------------------------------------------------------------------------------------


@check(
    "shape",
    points=1,
    title="The output is (B, T, C) and c_kv is (B, T, kv_latent_dim), whatever the sizes",
    hint="Write the shape of each intermediate result beside its line. Which line changes them?",
)
@pytest.mark.parametrize(
    ("setting", "batch", "length"),
    [(MAIN, B, T), (Latent(4, 3, 6, 8), 5, 7), (Latent(5, 2, 13, 4), 3, 11)],
    ids=["main", "narrow", "wide"],
)
def test_shapes(student, draw, setting, batch, length):
    made = setting.build(student, setting.weights(draw))
    output, c_kv = made(draw.normal(batch, length, setting.width))
    latent = (batch, length, setting.kv_latent)
    if output.shape == latent and c_kv.shape == (batch, length, setting.width):
        raise CheckFailure("Output and c_kv are swapped: the output comes first.")
    assert_shape(output, [("B", batch), ("T", length), ("C", setting.width)], "output")
    assert_shape(c_kv, [("B", batch), ("T", length), ("kv_latent_dim", latent[-1])], "c_kv")


@check(
    "shape",
    points=1,
    title="Axes of size 1 stay: one item, token, head, column, latent number",
    hint="Does something drop axes of size 1, such as squeeze()?",
)
def test_axes_of_size_one(student, draw):
    cases = [(MAIN, 1, T), (MAIN, B, 1), (Latent(1, 6, 4, 5), B, T), (Latent(6, 1, 1, 3), B, 4)]
    assert_sizes(student, draw, [*cases, (Latent(3, 4, 2, 1), B, T)])


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
@pytest.mark.parametrize("setting", [MAIN, Latent(5, 11, 7, 9)], ids=["3x8", "5x11"])
def test_ratio_of_two_keys(student, setting):
    others = {
        "with the root of embed_dim": setting.width**0.5,
        "with the root of the number of heads": setting.heads**0.5,
        "with the root of q_latent_dim": setting.q_latent**0.5,
        "with the root of kv_latent_dim": setting.kv_latent**0.5,
        "with the root of head and latent widths together": (setting.head_width + setting.kv_latent)
        ** 0.5,
    }
    assert_scale(setting, student, others)


@check(
    "heads",
    points=2,
    title="Head h is columns hD to (h+1)D of the queries and of the keys",
    hint="Split C into (H, D) first; only then may axes change places.",
)
@pytest.mark.parametrize("setting", [MAIN, Latent(4, 9, 13, 7)], ids=["3x8", "4x9"])
def test_weights_of_each_head(student, draw, setting):
    assert_heads_apart(setting, student, draw, B, T)


@check(
    "heads",
    points=2,
    title="Head h hands on columns hD to (h+1)D of the values, into the same columns",
    hint="Which two axes have to change places before heads and columns become one axis again?",
)
@pytest.mark.parametrize("setting", [MAIN, Latent(4, 6, 5, 9)], ids=["3x8", "4x6"])
def test_values_of_each_head(student, draw, setting):
    assert_own_values(setting, student, draw, B, T)


# -- values ----------------------------------------------------------------------------------------


@check(
    "values",
    points=2,
    title="The output is right, with weights that were loaded",
    hint="Follow the handout's worked example line by line with your own intermediate results.",
)
@pytest.mark.parametrize(
    ("setting", "batch", "length"),
    [
        (MAIN, B, T),
        (Latent(4, 5, 7, 6), 3, 8),
        (Latent(2, 9, 23, 25), 5, 3),
        (Latent(1, 6, 4, 1), 1, 7),
    ],
    ids=["main", "narrow", "wide", "one head"],
)
def test_values(student, reference, draw, setting, batch, length):
    x = draw.normal(batch, length, setting.width)
    assert_equals_reference(setting, student, reference, draw, x)


@check(
    "values",
    points=2,
    title="The merged heads go through W_o, once and the right way round",
    hint="What does nn.Linear compute from its weight, and does every output pass through W_o?",
)
def test_output_projection(student, draw):
    assert_output_projection(MAIN, student, draw, B, T)


# -- latents ---------------------------------------------------------------------------------------


def unseen_by(draw, *downs):
    """A change of a token that none of the projections ``downs`` notices."""
    stacked = torch.cat(downs)
    _, _, basis = torch.linalg.svd(stacked, full_matrices=True)
    hidden = basis[stacked.shape[0] :]
    return draw.normal(hidden.shape[0]) @ hidden * 3


@check(
    "cache",
    points=3,
    title="c_kv is exactly what W_DKV makes of x: no norm, no activation, no heads",
    hint="Which line makes the latent of keys and values, and what happens to it before return?",
    shows="the worked example",
)
@pytest.mark.parametrize("training", [False, True], ids=["evaluation", "training"])
def test_latent_that_is_returned(student, draw, training):
    weights = MAIN.weights(draw)
    x = draw.normal(B, T, MAIN.width)
    made = MAIN.build(student, weights, dropout=0.5).train(training)
    _, c_kv = made(x, mask=draw.mask(T, T))
    assert_shape(c_kv, [("B", B), ("T", T), ("kv_latent_dim", KV_LATENT)], "c_kv")
    latent = x @ weights["W_DKV"].T
    c_kv = c_kv.to(latent.dtype)  # what dtype comes back is looked at elsewhere
    if torch.allclose(c_kv, latent.relu(), atol=1e-5):
        raise CheckFailure("Your c_kv went through an activation: its negative numbers are 0.")
    rms = latent / latent.square().mean(-1, keepdim=True).sqrt()
    layer = torch.nn.functional.layer_norm(latent, latent.shape[-1:])
    if any(torch.allclose(c_kv, normed, atol=1e-3) for normed in (rms, layer)):
        raise CheckFailure("Your c_kv is normalised; this layer has no norm on its latents.")
    assert_close(c_kv, latent, "c_kv", message="Your c_kv is not what W_DKV makes of x.")


@check(
    "cache",
    points=2,
    title="Keys and values are made from c_kv alone, so that caching it is enough",
    hint="Which tensors does a later token need of this one, and from what are they made?",
)
def test_latent_is_enough(student, draw):
    weights = MAIN.weights(draw)
    made = MAIN.build(student, weights)
    x = draw.normal(B, T, MAIN.width)
    before = MAIN.output(made, x)
    changed = x.clone()
    changed[:, 1] += unseen_by(draw, weights["W_DKV"])
    after = MAIN.output(made, changed)
    others = [token for token in range(T) if token != 1]
    words = (
        "A token whose c_kv is the same moves the outputs of other tokens: its key or value is "
        "not made from c_kv alone."
    )
    assert_close(after[:, others], before[:, others], "output", message=words)
    changed = x.clone()
    changed[:, 1] += unseen_by(draw, weights["W_DQ"], weights["W_DKV"])
    words = "A change of x that both latents miss moves the output: something gets past them."
    assert_close(MAIN.output(made, changed), before, "output", message=words)


@check(
    "values",
    points=1,
    title="Queries are made from their own latent alone",
    hint="Which two matrices lie between x and the queries?",
)
def test_queries_from_their_latent(student, draw):
    weights = MAIN.weights(draw)
    made = MAIN.build(student, weights)
    # Nobody sees token 1, so that only its query is left of it.
    mask = torch.ones(T, T, dtype=torch.bool)
    mask[:, 1] = False
    x = draw.normal(B, T, MAIN.width)
    changed = x.clone()
    changed[:, 1] += unseen_by(draw, weights["W_DQ"])
    assert_close(
        MAIN.output(made, changed, mask),
        MAIN.output(made, x, mask),
        "output",
        message="A change of a token that the queries' latent misses changes what it attends to.",
    )


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
    hint="Which heads share a key here? What would that option do?",
)
def test_no_shared_heads(student, draw, forbidden_uses):
    MAIN.output(MAIN.build(student, MAIN.weights(draw)), draw.normal(B, T, MAIN.width))
    assert_not_forbidden(forbidden_uses)


# -- probes ----------------------------------------------------------------------------------------

SIZES = (
    {"setting": Latent(3, 4, 6, 7), "batch": 2, "length": 5},
    {"setting": Latent(2, 5, 8, 3), "batch": 3, "length": 4},
)


@probe(*SIZES)
def probe_unmasked(student, draw, setting, batch, length):
    return outcome(setting, student, draw, draw.normal(batch, length, setting.width))


@probe(*({**sizes, "rank": rank} for rank in RANKS for sizes in SIZES))
def probe_masked(student, draw, setting, batch, length, rank):
    mask = mask_of_rank(draw, rank, batch, setting.heads, length)
    return outcome(setting, student, draw, draw.normal(batch, length, setting.width), mask)


@probe({"setting": Latent(3, 4, 6, 7), "length": 5}, {"setting": Latent(2, 5, 8, 3), "length": 4})
def probe_batch_equals_heads(student, draw, setting, length):
    mask = mask_of_rank(draw, "(B, T, S)", setting.heads, setting.heads, length)
    return outcome(setting, student, draw, draw.normal(setting.heads, length, setting.width), mask)


@probe({"setting": Latent(3, 2, 6, 6)}, {"setting": Latent(2, 4, 8, 8)})
def probe_equal_widths(student, draw, setting):
    return outcome(setting, student, draw, draw.normal(3, 5, setting.width))


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
    {"setting": Latent(3, 8, 5, 11), "batch": 5, "length": 3},
)
def probe_dropout(student, draw, setting, batch, length):
    return outcome_of_dropout(setting, student, draw, batch, length)


@probe({"embed_dim": 14, "num_heads": 4}, {"embed_dim": 15, "num_heads": 6}, {"num_heads": 1})
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


@probe({"batch": 1, "length": 3}, {"batch": 2, "length": 1})
def probe_axes_of_size_one(student, draw, batch, length):
    return outcome(MAIN, student, draw, draw.normal(batch, length, MAIN.width))
