"""Hidden suite of `attention`.

Every size is distinct, so that no axis can stand in for another: B 2, H 6, T 5, S 8, D 7, Dv 9.
"""

import math

import pytest
import torch
from support_functions import assert_items_independent

from grader.suite import (
    BFLOAT16,
    CheckFailure,
    assert_close,
    assert_dtype,
    assert_finite,
    assert_not_forbidden,
    assert_raises,
    assert_rows_sum_to_one,
    assert_same_gradients,
    assert_shape,
    assert_started,
    assert_unchanged,
    check,
    measured,
    normalised_axis,
    probe,
)

B, H, T, S, D, DV = 2, 6, 5, 8, 7, 9
AXES = ("batch", "heads", "queries", "keys")
LEADING = {"no batch": (), "a batch": (B,), "batch and heads": (B, H)}


def inputs(draw, *leading, queries=T, keys=S, width=D, value_width=DV, dtype=torch.float32):
    """Query, key and value with the given leading axes."""
    return (
        draw.normal(*leading, queries, width, dtype=dtype),
        draw.normal(*leading, keys, width, dtype=dtype),
        draw.normal(*leading, keys, value_width, dtype=dtype),
    )


def assert_equals_reference(student, reference, arguments, **options):
    """Output and weights are those of the reference."""
    # The reference first: the student's code may write into what it is given.
    wanted_output, wanted_weights = reference.scaled_dot_product_attention(*arguments, **options)
    output, weights = student.scaled_dot_product_attention(*arguments, **options)
    assert_close(weights, wanted_weights, "weights")
    assert_close(output, wanted_output, "output")


# -- shape -----------------------------------------------------------------------------------------


@check(
    "shape",
    points=2,
    title="Output is (..., T, Dv) and weights are (..., T, S), whatever axes come first",
    hint="Write the shape of each intermediate result beside its line. Which line changes them?",
)
@pytest.mark.parametrize("leading", LEADING.values(), ids=LEADING)
def test_shapes(student, draw, leading):
    output, weights = student.scaled_dot_product_attention(*inputs(draw, *leading))
    names = [("B", B), ("H", H)][: len(leading)]
    if output.shape == (*leading, T, S) and weights.shape == (*leading, T, DV):
        raise CheckFailure("Output and weights are swapped: the output comes first.")
    assert_shape(output, [*names, ("T", T), ("Dv", DV)], "output")
    assert_shape(weights, [*names, ("T", T), ("S", S)], "weights")


@check(
    "shape",
    points=1,
    title="Axes of size 1 stay: one query, one key, one feature",
    hint="Does something drop axes of size 1, such as squeeze()?",
)
@pytest.mark.parametrize(
    "sizes",
    [(1, 1, 1, 4, 3), (1, 3, 1, 1, 2), (3, 1, 4, 1, 5), (2, 1, 1, 1, 1)],
    ids=["one-query", "one-key", "one-head", "all-one"],
)
def test_axes_of_size_one(student, draw, sizes):
    batch, heads, queries, keys, width = sizes
    arguments = inputs(
        draw, batch, heads, queries=queries, keys=keys, width=width, value_width=width
    )
    output, weights = student.scaled_dot_product_attention(*arguments)
    assert_shape(output, [("B", batch), ("H", heads), ("T", queries), ("D", width)], "output")
    assert_shape(weights, [("B", batch), ("H", heads), ("T", queries), ("S", keys)], "weights")


# -- weights ---------------------------------------------------------------------------------------


@check(
    "row-sum",
    points=2,
    title="Each query shares out exactly 1 among its keys",
    hint="What has to be true of the weights of one query, however many keys there are?",
    shows="three queries and four keys",
)
@pytest.mark.parametrize("leading", LEADING.values(), ids=LEADING)
def test_rows_sum_to_one(student, draw, leading):
    _, weights = student.scaled_dot_product_attention(*inputs(draw, *leading))
    assert_rows_sum_to_one(weights, AXES)


@check(
    "wrong-axis",
    points=2,
    title="The weights are normalised over the keys and over no other axis",
    hint="A query shares out 1 among the keys. Which axis are the keys on?",
    shows="three queries and four keys",
)
@pytest.mark.parametrize("leading", LEADING.values(), ids=LEADING)
def test_normalised_over_the_keys(student, draw, leading):
    _, weights = student.scaled_dot_product_attention(*inputs(draw, *leading))
    assert_finite(weights, "weights")
    other = normalised_axis(weights, AXES)
    if other is not None:
        raise CheckFailure(f"Your weights sum to 1 over {other}, not over the keys.")


@check(
    "scale",
    points=3,
    title="Scores are divided by the square root of the key width",
    hint="Two keys whose raw scores differ by D: what has to be the ratio of their weights?",
)
@pytest.mark.parametrize("width", [3, 6, 11])
def test_ratio_of_two_keys(student, width):
    query = torch.ones(1, width)
    key = torch.stack([torch.ones(width), torch.zeros(width)])
    _, weights = student.scaled_dot_product_attention(query, key, torch.eye(2))
    assert_finite(weights, "weights")
    ratio = float(weights.flatten()[0].log() - weights.flatten()[1].log())
    if abs(ratio - math.sqrt(width)) <= 1e-3 * width:
        return
    known = {
        float(width): "They are what they would be without any scale.",
        1.0: "They are what dividing by the width itself gives, without the root.",
        width * math.sqrt(width): "They are what multiplying by the root gives.",
        width / math.sqrt(2): "They are what the root of the number of keys gives.",
    }
    words = next((text for value, text in known.items() if abs(ratio - value) < 1e-2), "")
    raise CheckFailure(
        f"Two keys whose scores differ by D get weights in the wrong ratio. {words}".strip(),
        measured("log ratio {:.4f}, expected {:.4f}", ratio, math.sqrt(width)),
    )


# -- values ----------------------------------------------------------------------------------------


@check(
    "values",
    points=3,
    title="Output and weights are right for one sequence that attends to itself",
    hint="Compute one row by hand from the handout's five steps.",
)
def test_values_of_self_attention(student, reference, draw):
    arguments = inputs(draw, queries=T, keys=T, value_width=D)
    assert_equals_reference(student, reference, arguments)


@check(
    "values",
    points=3,
    title="Output and weights are right where there are more keys than queries",
    hint="T and S differ here, and so do D and Dv. Which of them does each line use?",
)
@pytest.mark.parametrize("queries_keys", [(T, S), (S, T)], ids=["more-keys", "more-queries"])
def test_values_of_cross_attention(student, reference, draw, queries_keys):
    queries, keys = queries_keys
    assert_equals_reference(student, reference, inputs(draw, queries=queries, keys=keys))


@check(
    "values",
    points=2,
    title="Output and weights are right for a batch",
    hint="The last two axes are the matrix; every axis before them is only carried along.",
)
def test_values_of_a_batch(student, reference, draw):
    assert_equals_reference(student, reference, inputs(draw, B))
    assert_equals_reference(student, reference, inputs(draw, 3, queries=4, keys=3))


@check(
    "values",
    points=2,
    title="Output and weights are right for batch and heads, and for axes of size 1",
    hint="Count axes from the end (-1, -2), not from the front.",
)
def test_values_of_heads(student, reference, draw):
    assert_equals_reference(student, reference, inputs(draw, B, H))
    assert_equals_reference(student, reference, inputs(draw, 1, 2, queries=1, keys=3))
    assert_equals_reference(student, reference, inputs(draw, 2, 1, 3, queries=2, keys=1))


@check(
    "values",
    points=2,
    title="The output is the values mixed with the weights that are returned",
    hint="Are the weights you return the ones you multiply the values with?",
)
def test_output_is_weights_times_value(student, draw):
    query, key, value = inputs(draw, B)
    output, weights = student.scaled_dot_product_attention(query, key, value)
    assert_shape(weights, [("B", B), ("T", T), ("S", S)], "weights")
    mixed = weights.double() @ value.double()
    assert_close(output, mixed, "output", message="Your output is not weights @ value.")
    eye = torch.eye(S).repeat(B, 1, 1)
    shown, weights = student.scaled_dot_product_attention(query, key, eye)
    assert_close(
        shown,
        weights,
        "output",
        message="With the identity as values the output has to equal the weights; yours does not.",
    )


# -- mask ------------------------------------------------------------------------------------------


@check(
    "mask",
    points=3,
    title="True means allowed: blocked keys get no weight, allowed keys get some",
    hint="Look at one row: which entries are 0, and which does your mask call allowed?",
    shows="three queries, four keys and a mask",
)
@pytest.mark.parametrize("kind", ["bool", "integer", "integers-other-than-one"])
def test_mask_meaning(student, draw, kind):
    mask = draw.mask(B, T, S)
    allowed = mask.clone()
    if kind != "bool":
        mask = mask.to(torch.int64)
    if kind == "integers-other-than-one":
        mask = mask * torch.tensor([1, 2, -1, 3, 1, 2, -1, 3])
    _, weights = student.scaled_dot_product_attention(*inputs(draw, B), mask=mask)
    assert_finite(weights, "weights")
    assert_shape(weights, [("B", B), ("T", T), ("S", S)], "weights")
    if bool((weights[allowed] < 1e-12).all()) and bool((weights[~allowed] > 0).any()):
        raise CheckFailure("Your mask is inverted: the blocked keys get the weight.")
    if float(weights[~allowed].abs().max()) > 1e-6:
        raise CheckFailure("Keys that the mask blocks still get weight.")
    if bool((weights[allowed] <= 0).any()):
        raise CheckFailure("Keys that the mask allows get no weight.")


@check(
    "mask",
    points=3,
    title="The mask acts before softmax: the allowed weights of a query still sum to 1",
    hint="What does a blocked score have to be before softmax, so that it counts for nothing?",
    shows="three queries, four keys and a mask",
)
def test_mask_before_softmax(student, reference, draw):
    arguments, mask = inputs(draw, B, H), draw.mask(B, H, T, S)
    _, weights = student.scaled_dot_product_attention(*arguments, mask=mask)
    assert_rows_sum_to_one(weights, AXES)
    assert_equals_reference(student, reference, arguments, mask=mask)


@check(
    "mask",
    points=2,
    title="A mask broadcasts: one for all queries, for all heads, for the whole batch",
    hint="Which shapes does (..., T, S) broadcast with? Leave that to PyTorch.",
)
@pytest.mark.parametrize(
    "shape",
    [(S,), (1, S), (T, 1), (T, S), (B, 1, 1, S), (B, 1, T, S), (1, H, T, S), (H, T, S)],
    ids=str,
)
def test_mask_broadcasts(student, reference, draw, shape):
    mask = draw.mask(*shape) if shape[-1] > 1 else torch.ones(shape, dtype=torch.bool)
    assert_equals_reference(student, reference, inputs(draw, B, H), mask=mask)


@check(
    "mask",
    points=2,
    title="Blocked keys have no influence, however large their keys and values",
    hint="Which number can a blocked score be that no other score can beat?",
)
@pytest.mark.parametrize("size", [1e2, 1e4, 1e6])
def test_blocked_keys_have_no_influence(student, draw, size):
    query, key, value = inputs(draw, B)
    mask = draw.mask(B, T, S)
    mask[:, :, 2] = False
    mask[:, :, 3] = True
    before, _ = student.scaled_dot_product_attention(query, key, value, mask=mask)
    key, value = key.clone(), value.clone()
    key[:, 2] = -size * key[:, 2].sign()
    value[:, 2] = size
    after, _ = student.scaled_dot_product_attention(query, key, value, mask=mask)
    words = "A key that no query may see changes the output when its key and value grow."
    assert_close(after, before, "output", message=words)


@check(
    "mask",
    points=1,
    title="A blocked key gets no weight even if every allowed score is far below zero",
    hint="Which number can a blocked score be that is below every other?",
)
@pytest.mark.parametrize("size", [1e2, 1e4])
def test_blocked_keys_lose_to_low_scores(student, draw, size):
    _, _, value = inputs(draw, B)
    # Far apart, so that each query takes the best allowed key alone and no rounding shows.
    order = draw.permutation(S - 1) + 1.0
    key = torch.cat([torch.zeros(1), -size * order]).view(1, S, 1).repeat(B, 1, D)
    mask = torch.ones(T, S, dtype=torch.bool)
    mask[:, 0] = False
    output, _ = student.scaled_dot_product_attention(torch.ones(B, T, D), key, value, mask=mask)
    best = value[:, 1 + order.argmin()].unsqueeze(1).expand(B, T, DV)
    words = "A blocked key wins where every allowed score is far below zero."
    assert_close(output, best, "output", message=words)


@check(
    "mask",
    points=1,
    title="A mask that allows everything equals no mask",
    hint="What does your code do with a mask that has nothing to block?",
)
def test_all_true_equals_none(student, draw):
    arguments = inputs(draw, B, H)
    without, plain = student.scaled_dot_product_attention(*arguments)
    all_true = torch.ones(T, S, dtype=torch.bool)
    output, weights = student.scaled_dot_product_attention(*arguments, mask=all_true)
    words = "With everything allowed the result has to be what it is without a mask."
    assert_close(weights, plain, "weights", message=words)
    assert_close(output, without, "output", message=words)


@check(
    "causal-leak",
    points=3,
    title="Under a causal mask no query sees a later key",
    hint="Change the last key and value. Which outputs may move?",
)
def test_no_leak_from_later_keys(student, draw):
    query, key, value = inputs(draw, B, queries=S)
    causal = torch.ones(S, S, dtype=torch.bool).tril()
    before, _ = student.scaled_dot_product_attention(query, key, value, mask=causal)
    assert_shape(before, [("B", B), ("T", S), ("Dv", DV)], "output")
    for place in range(1, S):
        later_key, later_value = key.clone(), value.clone()
        later_key[:, place:] = draw.normal(B, S - place, D) * 3
        later_value[:, place:] = draw.normal(B, S - place, DV) * 3
        after, _ = student.scaled_dot_product_attention(query, later_key, later_value, mask=causal)
        words = "A query's output moves when only later keys and values change: the future leaks."
        assert_close(after[:, :place], before[:, :place], "output", message=words)
        if torch.equal(after[:, place:], before[:, place:]):
            raise CheckFailure("A query does not see the keys that it may see.")
    assert_close(
        before[:, 0], value[:, 0], "output", message="The first query may see the first key alone."
    )


@check(
    "errors",
    points=2,
    title="A query with no allowed key raises ValueError",
    hint="What is softmax of a row that holds nothing but minus infinity?",
)
@pytest.mark.parametrize("kind", ["one-row", "one-row-of-one-item", "integer", "broadcast"])
def test_query_without_keys(student, draw, kind):
    mask = draw.mask(B, T, S)
    if kind == "one-row":
        mask[:, 3] = False
    if kind in ("one-row-of-one-item", "integer"):
        mask[1, 2] = False
    if kind == "integer":
        mask = mask.to(torch.int32)
    if kind == "broadcast":
        mask = torch.zeros(1, S, dtype=torch.bool)
    with assert_raises(ValueError, when="a query has no allowed key"):
        student.scaled_dot_product_attention(*inputs(draw, B), mask=mask)


@check(
    "errors",
    points=1,
    title="A key that no query may see is no error",
    hint="Over which axis do you ask whether anything is allowed?",
)
def test_key_without_queries(student, draw):
    mask = draw.mask(B, T, S)
    mask[..., 4] = False
    mask[..., 5] = True
    student.scaled_dot_product_attention(*inputs(draw, B), mask=mask)


# -- numbers ---------------------------------------------------------------------------------------


@check(
    "numerics",
    points=2,
    title="Large scores give finite and right results",
    hint="exp(100) is more than float32 holds. What may be subtracted from a row before exp?",
)
@pytest.mark.parametrize("size", [30.0, 300.0])
def test_large_scores(student, reference, draw, size):
    query, key, value = inputs(draw, B)
    output, weights = student.scaled_dot_product_attention(query * size, key * size, value)
    assert_finite(weights, "weights")
    assert_finite(output, "output")
    wanted = reference.scaled_dot_product_attention(
        *(tensor.double() for tensor in (query * size, key * size, value))
    )
    # At such scores the rounding of float32 itself moves a weight by up to about 1e-2.
    assert_close(weights, wanted[1], "weights", tol=(0.0, 5e-2))
    assert_rows_sum_to_one(weights, AXES)


@check(
    "gradient",
    points=3,
    title="Gradients reach query, key and value, and are right",
    shows="which inputs the gradient reaches",
    hint="Is anything detached, converted to numbers, or computed without grad?",
)
@pytest.mark.parametrize("masked", [False, True], ids=["no-mask", "mask"])
def test_gradients(student, reference, draw, masked):
    query, key, value = inputs(draw, B, H)
    mask = draw.mask(T, S) if masked else None

    def call(module):
        return lambda *tensors: module.scaled_dot_product_attention(*tensors, mask=mask)

    named = {"query": query, "key": key, "value": value}
    assert_same_gradients(call(student), call(reference), named, draw)


@check(
    "gradient",
    points=1,
    title="Gradients flow through the returned weights too",
    hint="Are the weights that you return still connected to the inputs?",
)
def test_gradients_of_weights(student, reference, draw):
    query, key, value = inputs(draw, B)

    def call(module):
        return lambda q, k: module.scaled_dot_product_attention(q, k, value)

    named = {"query": query, "key": key}
    assert_same_gradients(call(student), call(reference), named, draw, which=1)


@check(
    "dtype",
    points=1,
    title="float32 in, float32 out; float64 in, float64 out; numbers right in both",
    hint="Does a line name a dtype, or make a tensor of its own with the default one?",
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_float64(student, reference, draw, dtype):
    arguments = inputs(draw, B, dtype=dtype)
    output, weights = student.scaled_dot_product_attention(*arguments)
    assert_dtype(output, dtype, "output")
    assert_dtype(weights, dtype, "weights")
    assert_equals_reference(student, reference, arguments)


@check(
    "dtype",
    points=1,
    title="bfloat16 in, bfloat16 out",
    hint="Does a line name a dtype, or make a tensor of its own with the default one?",
)
@pytest.mark.parametrize("masked", [False, True], ids=["no-mask", "mask"])
def test_bfloat16(student, reference, draw, masked):
    arguments = inputs(draw, B, dtype=torch.bfloat16)
    options = {"mask": draw.mask(T, S)} if masked else {}
    output, weights = student.scaled_dot_product_attention(*arguments, **options)
    assert_dtype(output, torch.bfloat16, "output")
    assert_dtype(weights, torch.bfloat16, "weights")
    wanted_output, wanted_weights = reference.scaled_dot_product_attention(
        *(tensor.double() for tensor in arguments), **options
    )
    assert_close(weights, wanted_weights, "weights", tol=BFLOAT16)
    assert_close(output, wanted_output, "output", tol=BFLOAT16)


@check(
    "device",
    points=1,
    title="Runs on whatever device its inputs are on",
    hint="Does a line name a device, or make a tensor without asking its inputs where they are?",
)
def test_no_device_of_its_own(student):
    query, key, value = (torch.empty(B, n, d, device="meta") for n, d in ((T, D), (S, D), (S, DV)))
    output, weights = student.scaled_dot_product_attention(query, key, value)
    if output.device.type != "meta" or weights.device.type != "meta":
        raise CheckFailure("Your results are on another device than the inputs.")
    assert_shape(output, [("B", B), ("T", T), ("Dv", DV)], "output")


# -- manners ---------------------------------------------------------------------------------------


@check(
    "purity",
    points=1,
    title="Query, key, value and mask stay as they were",
    hint="Does a line work in place (+=, masked_fill_, div_) on something that came from outside?",
)
@pytest.mark.parametrize("kind", ["bool", "integer"])
def test_inputs_untouched(student, draw, kind):
    mask = draw.mask(T, S)
    mask = mask if kind == "bool" else mask.to(torch.int64) * draw.integers(1, 4, T, S)
    named = dict(zip(("query", "key", "value", "mask"), (*inputs(draw, B), mask), strict=True))
    before = {name: tensor.clone() for name, tensor in named.items()}
    query, key, value, mask = named.values()
    student.scaled_dot_product_attention(query, key, value)
    student.scaled_dot_product_attention(query, key, value, mask=mask)
    assert_unchanged(before, named)


@check(
    "dropout",
    points=1,
    title="Equal inputs give equal results",
    hint="This function has no dropout. Is anything in it random, or kept from call to call?",
)
def test_same_inputs_same_results(student, draw):
    arguments = inputs(draw, B, H)
    first, first_weights = student.scaled_dot_product_attention(*arguments)
    student.scaled_dot_product_attention(*inputs(draw, B, H), mask=draw.mask(T, S))
    second, second_weights = student.scaled_dot_product_attention(*arguments)
    words = "Two calls with equal inputs gave different results."
    assert_close(second_weights, first_weights, "weights", message=words)
    assert_close(second, first, "output", message=words)


@check(
    "batch",
    points=2,
    title="The items of a batch, and the heads, do not see each other",
    hint="Change one item. May another item's output move?",
)
def test_items_are_independent(student, draw):
    def call(*tensors):
        return student.scaled_dot_product_attention(*tensors)[0]

    assert_items_independent(call, inputs(draw, 3, H), draw)


@check(
    "layout",
    points=1,
    title="Inputs need not be contiguous in memory",
    hint="view() wants contiguous memory; reshape() does not.",
)
def test_inputs_that_are_not_contiguous(student, reference, draw):
    query = draw.normal(B, T, H, D).transpose(1, 2)
    key = draw.normal(B, S, H, D).transpose(1, 2)
    value = draw.normal(B, H, DV, S).transpose(2, 3)
    assert_equals_reference(student, reference, (query, key, value))
    expanded = draw.normal(1, H, S, D).expand(B, H, S, D)
    assert_equals_reference(student, reference, (query, expanded, value), mask=draw.mask(T, S))


@check(
    "policy",
    points=2,
    title="Written without F.scaled_dot_product_attention",
    hint="The point here is to write the steps yourself.",
)
def test_written_by_hand(student, draw, forbidden_uses):
    assert_started(student.scaled_dot_product_attention, *inputs(draw))
    assert_not_forbidden(forbidden_uses)


# -- probes ----------------------------------------------------------------------------------------

CROSS = (
    {"leading": (2, 3), "queries": 4, "keys": 6, "width": 5, "value_width": 7},
    {"leading": (3,), "queries": 5, "keys": 7, "width": 3, "value_width": 2},
)
SQUARE = (
    {"leading": (2,), "queries": 5, "keys": 5, "width": 6, "value_width": 6},
    {"leading": (2, 3), "queries": 7, "keys": 7, "width": 5, "value_width": 5},
)


def results(student, arguments, **options):
    output, weights = student.scaled_dot_product_attention(*arguments, **options)
    return {"output": output, "weights": weights}


@probe(*CROSS)
def probe_cross(student, draw, leading, **sizes):
    return results(student, inputs(draw, *leading, **sizes))


@probe(*SQUARE)
def probe_square(student, draw, leading, **sizes):
    return results(student, inputs(draw, *leading, **sizes))


@probe(*CROSS)
def probe_inputs_afterwards(student, draw, leading, queries, keys, **sizes):
    mask = draw.integers(-2, 3, *leading, queries, keys)
    mask[..., 0], mask[..., 1] = 1, 2
    arguments = (*inputs(draw, *leading, queries=queries, keys=keys, **sizes), mask)
    before = [tensor.clone() for tensor in arguments]
    student.scaled_dot_product_attention(*arguments)
    # However it changes them, it is one fault.
    return {
        name: torch.tensor(float(torch.equal(tensor, copy)))
        for name, tensor, copy in zip(
            ("query", "key", "value", "mask"), arguments, before, strict=True
        )
    }


@probe(*CROSS)
def probe_masked(student, draw, leading, queries, keys, **sizes):
    arguments = inputs(draw, *leading, queries=queries, keys=keys, **sizes)
    return results(student, arguments, mask=draw.mask(*leading, queries, keys))


@probe(*SQUARE)
def probe_masked_square(student, draw, leading, queries, keys, **sizes):
    arguments = inputs(draw, *leading, queries=queries, keys=keys, **sizes)
    mask = draw.mask(queries, keys)
    mask[..., 0, 0], mask[..., 0, 1] = False, True
    return results(student, arguments, mask=mask)


@probe(*CROSS)
def probe_integer_mask(student, draw, leading, queries, keys, **sizes):
    arguments = inputs(draw, *leading, queries=queries, keys=keys, **sizes)
    mask = draw.mask(*leading, queries, keys).to(torch.int64) * draw.integers(1, 4, queries, keys)
    mask[..., 0] = 1  # so that those who take only the ones still have a key
    return results(student, arguments, mask=mask)


@probe(*CROSS)
def probe_negative_mask(student, draw, leading, queries, keys, **sizes):
    arguments = inputs(draw, *leading, queries=queries, keys=keys, **sizes)
    return results(student, arguments, mask=-draw.mask(queries, keys).to(torch.int32))


@probe(*CROSS)
def probe_key_mask(student, draw, leading, queries, keys, **sizes):
    arguments = inputs(draw, *leading, queries=queries, keys=keys, **sizes)
    return results(student, arguments, mask=draw.mask(keys))


@probe(*CROSS, {"leading": (4, 2), "queries": 3, "keys": 5, "width": 4, "value_width": 6})
def probe_mask_of_one_row(student, draw, leading, queries, keys, **sizes):
    arguments = inputs(draw, *leading, queries=queries, keys=keys, **sizes)
    return results(student, arguments, mask=draw.mask(*leading[:-1], 1, 1, keys))


@probe(*CROSS)
def probe_blocked_keys_are_huge(student, draw, leading, queries, keys, **sizes):
    query, key, value = inputs(draw, *leading, queries=queries, keys=keys, **sizes)
    mask = draw.mask(queries, keys)
    mask[:, 1], mask[:, 2] = False, True
    key[..., 1, :] *= 1e4
    value[..., 1, :] = 1e6
    return results(student, (query, key, value), mask=mask)


@probe(*CROSS)
def probe_allowed_scores_are_low(student, draw, leading, queries, keys, **sizes):
    query, key, value = inputs(draw, *leading, queries=queries, keys=keys, **sizes)
    mask = draw.mask(queries, keys)
    query, key = query.abs(), -key.abs() * 2e4
    key[..., 0, :] = 0.0
    mask[:, 0], mask[:, 1] = False, True
    return results(student, (query, key, value), mask=mask)


@probe(*CROSS)
def probe_query_without_keys(student, draw, leading, queries, keys, **sizes):
    arguments = inputs(draw, *leading, queries=queries, keys=keys, **sizes)
    mask = draw.mask(*leading, queries, keys)
    mask[..., 1, 2, :] = False
    return results(student, arguments, mask=mask)


@probe(*CROSS)
def probe_nothing_allowed(student, draw, leading, queries, keys, **sizes):
    arguments = inputs(draw, *leading, queries=queries, keys=keys, **sizes)
    return results(student, arguments, mask=torch.zeros(queries, keys, dtype=torch.bool))


@probe(*CROSS)
def probe_key_without_queries(student, draw, leading, queries, keys, **sizes):
    arguments = inputs(draw, *leading, queries=queries, keys=keys, **sizes)
    mask = draw.mask(queries, keys)
    mask[:, 1], mask[:, 0] = False, True
    return results(student, arguments, mask=mask)


@probe(*CROSS)
def probe_large_scores(student, draw, leading, **sizes):
    query, key, value = inputs(draw, *leading, **sizes)
    return results(student, (query * 20, key * 20, value))


@probe(*CROSS)
def probe_bfloat16(student, draw, leading, **sizes):
    found = results(student, inputs(draw, *leading, dtype=torch.bfloat16, **sizes))
    # Right answers round at different places; only the dtype is compared.
    return {name: torch.zeros(1, dtype=tensor.dtype) for name, tensor in found.items()}


@probe(*CROSS)
def probe_float64(student, draw, leading, **sizes):
    return results(student, inputs(draw, *leading, dtype=torch.float64, **sizes))


@probe(*CROSS)
def probe_gradients(student, draw, leading, queries, keys, **sizes):
    leaves = inputs(draw, *leading, queries=queries, keys=keys, **sizes)
    leaves = [tensor.requires_grad_() for tensor in leaves]
    output, weights = student.scaled_dot_product_attention(*leaves, mask=draw.mask(queries, keys))
    found = {}
    for name, result in (("output", output), ("weights", weights)):
        if not result.requires_grad:
            continue
        total = (result * draw.normal(*result.shape)).sum()
        gradients = torch.autograd.grad(total, leaves, allow_unused=True, retain_graph=True)
        for leaf, gradient in zip(("query", "key", "value"), gradients, strict=True):
            if gradient is not None:
                found[f"{name}/{leaf}"] = gradient
    return found


@probe(*CROSS)
def probe_not_contiguous(student, draw, leading, queries, keys, width, value_width):
    query = draw.normal(*leading, width, queries).transpose(-1, -2)
    key = draw.normal(*leading, width, keys).transpose(-1, -2)
    value = draw.normal(*leading, value_width, keys).transpose(-1, -2)
    return results(student, (query, key, value))


@probe({"queries": 1, "keys": 3, "width": 2}, {"queries": 3, "keys": 1, "width": 1})
def probe_axes_of_size_one(student, draw, queries, keys, width):
    arguments = inputs(draw, 2, 1, queries=queries, keys=keys, width=width, value_width=4)
    return results(student, arguments)


@probe({"queries": 3, "keys": 4}, {"queries": 4, "keys": 2})
def probe_no_leading_axes(student, draw, queries, keys):
    return results(student, inputs(draw, queries=queries, keys=keys))
