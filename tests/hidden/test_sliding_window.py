"""Hidden suite of `sliding_window`.

Every size is distinct, so that no axis can stand in for another: B 2, H 6, T 8, D 7, Dv 9; windows
are 3, 5 and the special ones: 1, T, beyond T.
"""

import math

import pytest
import torch
from support_functions import assert_items_independent

from grader.suite import (
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
    tolerance,
)

B, H, T, D, DV = 2, 6, 8, 7, 9
AXES = ("batch", "heads", "queries", "keys")
LEADING = {"no batch": (), "a batch": (B,), "batch and heads": (B, H)}
WINDOWS = (1, 3, 5, T, T + 4)


def inputs(draw, *leading, length=T, width=D, value_width=DV, dtype=torch.float32):
    """Query, key and value with the given leading axes."""
    return (
        draw.normal(*leading, length, width, dtype=dtype),
        draw.normal(*leading, length, width, dtype=dtype),
        draw.normal(*leading, length, value_width, dtype=dtype),
    )


def distances(length):
    """How many places before query i key j lies, (T, T); negative for later keys."""
    positions = torch.arange(length)
    return positions.unsqueeze(1) - positions


def weights_of(student, arguments, window):
    """The student's weights, checked to be (..., T, T) and numbers."""
    _, weights = student.sliding_window_attention(*arguments, window=window)
    *leading, length, _ = arguments[0].shape
    named = zip(("B", "H")[: len(leading)], leading, strict=True)
    assert_shape(weights, [*named, ("T", length), ("S", length)], "weights")
    assert_finite(weights, "weights")
    return weights


def assert_equals_reference(student, reference, arguments, window):
    """Output and weights are those of the reference."""
    # The reference first: the student's code may write into what it is given.
    wanted_output, wanted_weights = reference.sliding_window_attention(*arguments, window=window)
    output, weights = student.sliding_window_attention(*arguments, window=window)
    assert_close(weights, wanted_weights, "weights")
    assert_close(output, wanted_output, "output")


# -- shape and errors ------------------------------------------------------------------------------


@check(
    "shape",
    points=2,
    title="Output is (..., T, Dv) and weights are (..., T, T), whatever axes come first",
    hint="Write the shape of each intermediate result beside its line. Which line changes them?",
)
@pytest.mark.parametrize("leading", LEADING.values(), ids=LEADING)
def test_shapes(student, draw, leading):
    output, weights = student.sliding_window_attention(*inputs(draw, *leading), window=3)
    names = [("B", B), ("H", H)][: len(leading)]
    if output.shape == (*leading, T, T) and weights.shape == (*leading, T, DV):
        raise CheckFailure("Output and weights are swapped: the output comes first.")
    assert_shape(output, [*names, ("T", T), ("Dv", DV)], "output")
    assert_shape(weights, [*names, ("T", T), ("S", T)], "weights")


@check(
    "shape",
    points=1,
    title="Axes of size 1 stay: one position, one head, one feature",
    hint="Does something drop axes of size 1, such as squeeze()?",
)
@pytest.mark.parametrize("sizes", [(1, 1, 1, 4), (1, 3, 5, 1), (3, 1, 4, 5), (1, 1, 1, 1)], ids=str)
def test_axes_of_size_one(student, draw, sizes):
    batch, heads, length, width = sizes
    arguments = inputs(draw, batch, heads, length=length, width=width, value_width=width)
    window = min(2, length)
    output, weights = student.sliding_window_attention(*arguments, window=window)
    assert_shape(output, [("B", batch), ("H", heads), ("T", length), ("D", width)], "output")
    assert_shape(weights, [("B", batch), ("H", heads), ("T", length), ("S", length)], "weights")


@check(
    "errors",
    points=1,
    title="A window below 1 raises ValueError",
    hint="How many keys does a query see, if the window is 0?",
)
@pytest.mark.parametrize("window", [0, -1, -T])
def test_window_below_one(student, draw, window):
    arguments = inputs(draw, B)
    with assert_raises(ValueError, when="the window is below 1"):
        student.sliding_window_attention(*arguments, window=window)


# -- window ----------------------------------------------------------------------------------------


@check(
    "causal-leak",
    points=3,
    title="No query sees a later key, whatever the window",
    hint="Change the last key and value. Which outputs may move?",
    shows="five positions with a window of 3",
)
@pytest.mark.parametrize("window", WINDOWS)
def test_no_later_key(student, draw, window):
    weights = weights_of(student, inputs(draw, B), window)
    if float(weights[:, distances(T) < 0].abs().max()) > 1e-6:
        raise CheckFailure("A query gives weight to a key that comes after its own position.")


@check(
    "causal-leak",
    points=2,
    title="Changing a later key and value moves no earlier output",
    hint="Where does a number of a later position get into an earlier one's output?",
    shows="five positions with a window of 3",
)
@pytest.mark.parametrize("window", [3, T + 4])
def test_later_keys_have_no_influence(student, draw, window):
    query, key, value = inputs(draw, B)
    before, _ = student.sliding_window_attention(query, key, value, window=window)
    assert_shape(before, [("B", B), ("T", T), ("Dv", DV)], "output")
    for place in range(1, T):
        later_key, later_value = key.clone(), value.clone()
        later_key[:, place:] = draw.normal(B, T - place, D) * 3
        later_value[:, place:] = draw.normal(B, T - place, DV) * 3
        after, _ = student.sliding_window_attention(query, later_key, later_value, window=window)
        words = "Changing a later key and value moves an earlier output."
        assert_close(after[:, :place], before[:, :place], "output", message=words)


@check(
    "mask",
    points=3,
    title="A query sees W keys, its own among them: no more, and no fewer",
    hint="Write down which keys query 3 sees with a window of 2, and count them.",
    shows="five positions with a window of 3",
)
@pytest.mark.parametrize("window", WINDOWS)
def test_keys_of_the_window(student, draw, window):
    weights = weights_of(student, inputs(draw, B), window)
    distance = distances(T)
    inside = (distance >= 0) & (distance < window)
    before = distance >= window
    if bool((weights[:, inside] <= 0).any()):
        if bool((weights[:, distance == 0] <= 0).all()):
            raise CheckFailure("A query gives no weight to the key at its own position.")
        raise CheckFailure("A key in the window gets no weight.")
    if bool(before.any()) and float(weights[:, before].abs().max()) > 1e-6:
        edge = weights[:, distance == window]
        deeper = weights[:, distance > window]
        if edge.numel() and not bool((deeper.abs() > 1e-6).any()):
            raise CheckFailure("Your window holds one key too many.")
        raise CheckFailure("Keys that lie before the window still get weight.")


@check(
    "mask",
    points=2,
    title="The window acts before softmax: the weights of the keys in it still sum to 1",
    hint="What does a score outside the window have to be before softmax, to count for nothing?",
    shows="five positions with a window of 3",
)
@pytest.mark.parametrize("window", [1, 3, 5])
def test_window_before_softmax(student, reference, draw, window):
    arguments = inputs(draw, B, H)
    assert_rows_sum_to_one(weights_of(student, arguments, window), AXES)
    assert_equals_reference(student, reference, arguments, window)


@check(
    "mask",
    points=2,
    title="Keys before the window have no influence, however large their keys and values",
    hint="Which number can a score outside the window be that no other score can beat?",
)
@pytest.mark.parametrize("size", [1e2, 1e4, 1e6])
def test_keys_before_the_window_have_no_influence(student, draw, size):
    query, key, value = inputs(draw, B)
    before, _ = student.sliding_window_attention(query, key, value, window=3)
    assert_shape(before, [("B", B), ("T", T), ("Dv", DV)], "output")
    key, value = key.clone(), value.clone()
    key[:, :2] = size * key[:, :2].sign()
    value[:, :2] = size
    after, _ = student.sliding_window_attention(query, key, value, window=3)
    words = "A key that lies before the window changes the output when its key and value grow."
    # Queries 4 and later see keys 2 and later.
    assert_close(after[:, 4:], before[:, 4:], "output", message=words)


@check(
    "mask",
    points=1,
    title="A key outside the window gets no weight even if every score in it is far below zero",
    hint="Which number can a score outside the window be that is below every other?",
)
@pytest.mark.parametrize("size", [1e2, 1e4])
def test_the_window_keeps_low_scores(student, draw, size):
    _, _, value = inputs(draw, B)
    # Far apart, so that each query takes the best key alone and no rounding shows.
    order = torch.arange(T) + 1.0
    key = (-size * order).view(1, T, 1).repeat(B, 1, D)
    output, _ = student.sliding_window_attention(torch.ones(B, T, D), key, value, window=3)
    best = value[:, (torch.arange(T) - 2).clamp(min=0)]
    words = "A key outside the window wins where every score in it is far below zero."
    assert_close(output, best, "output", message=words)


@check(
    "values",
    points=2,
    title="A window as long as the sequence, or longer, is plain causal attention",
    hint="What is there to hide before the window, if it reaches back to the first key?",
    shows="five positions with a window of 9",
)
@pytest.mark.parametrize("window", [T, T + 1, 10 * T])
def test_long_window_is_causal(student, reference, draw, window):
    assert_equals_reference(student, reference, inputs(draw, B, H), window)


@check(
    "values",
    points=1,
    title="A window of 1 gives back the values",
    hint="Which key does a query see, if it sees one?",
    shows="five positions with a window of 1",
)
@pytest.mark.parametrize("length", [1, T])
def test_window_of_one_gives_the_value(student, draw, length):
    arguments = inputs(draw, B, length=length)
    value = arguments[2].clone()
    output, _ = student.sliding_window_attention(*arguments, window=1)
    words = "With a window of 1 the output has to be the value."
    assert_close(output, value, "output", message=words)


# -- weights ---------------------------------------------------------------------------------------


@check(
    "row-sum",
    points=2,
    title="Each query shares out exactly 1 among its keys",
    hint="What has to be true of the weights of one query, however many keys it sees?",
    shows="five positions with a window of 3",
)
@pytest.mark.parametrize("leading", LEADING.values(), ids=LEADING)
def test_rows_sum_to_one(student, draw, leading):
    for window in (3, T):
        _, weights = student.sliding_window_attention(*inputs(draw, *leading), window=window)
        assert_rows_sum_to_one(weights, AXES)


@check(
    "wrong-axis",
    points=1,
    title="The weights are normalised over the keys and over no other axis",
    hint="A query shares out 1 among the keys. Which axis are the keys on?",
    shows="five positions with a window of 3",
)
@pytest.mark.parametrize("leading", LEADING.values(), ids=LEADING)
def test_normalised_over_the_keys(student, draw, leading):
    weights = weights_of(student, inputs(draw, *leading), 4)
    other = normalised_axis(weights, AXES)
    if other is not None:
        raise CheckFailure(f"Your weights sum to 1 over {other}, not over the keys.")


@check(
    "scale",
    points=2,
    title="Scores are divided by the square root of the key width",
    hint="Two keys whose raw scores differ by D: what has to be the ratio of their weights?",
)
@pytest.mark.parametrize("width", [3, 6, 11])
def test_ratio_of_two_keys(student, width):
    query = torch.ones(4, width)
    key = torch.stack([torch.zeros(width), torch.zeros(width), torch.ones(width), query[0] * 0])
    _, weights = student.sliding_window_attention(query, key, torch.eye(4), window=2)
    assert_shape(weights, [("T", 4), ("S", 4)], "weights")
    assert_finite(weights, "weights")
    ratio = float(weights[3, 2].log() - weights[3, 3].log())
    if not abs(ratio - math.sqrt(width)) <= 1e-3 * width:
        raise CheckFailure(
            "Two keys whose scores differ by D get weights in the wrong ratio.",
            measured("log ratio {:.4f}, expected {:.4f}", ratio, math.sqrt(width)),
        )


# -- values ----------------------------------------------------------------------------------------


@check(
    "values",
    points=3,
    title="Output and weights are right for one sequence",
    hint="Compute one row by hand from the handout's four steps.",
    shows="the worked example",
)
@pytest.mark.parametrize("window", [2, 3, 5])
def test_values(student, reference, draw, window):
    assert_equals_reference(student, reference, inputs(draw), window)
    assert_equals_reference(student, reference, inputs(draw, length=11, width=4), window)


@check(
    "values",
    points=2,
    title="Output and weights are right for batch and heads",
    hint="The last two axes are the matrix; every axis before them is only carried along.",
)
def test_values_of_heads(student, reference, draw):
    assert_equals_reference(student, reference, inputs(draw, B, H), 4)
    assert_equals_reference(student, reference, inputs(draw, 3, length=4, width=5), 2)
    assert_equals_reference(student, reference, inputs(draw, 2, 1, 3, length=5, width=2), 3)


@check(
    "values",
    points=1,
    title="The output is the values mixed with the weights that are returned",
    hint="Are the weights you return the ones you multiply the values with?",
)
def test_output_is_weights_times_value(student, draw):
    query, key, value = inputs(draw, B)
    mixing = value.double()
    output, weights = student.sliding_window_attention(query, key, value, window=3)
    assert_shape(weights, [("B", B), ("T", T), ("S", T)], "weights")
    mixed = weights.double() @ mixing
    assert_close(output, mixed, "output", message="Your output is not weights @ value.")


# -- numbers ---------------------------------------------------------------------------------------


@check(
    "numerics",
    points=1,
    title="Large scores give finite and right results",
    hint="exp(100) is more than float32 holds. What may be subtracted from a row before exp?",
)
@pytest.mark.parametrize("size", [30.0, 300.0])
def test_large_scores(student, reference, draw, size):
    query, key, value = inputs(draw, B)
    query, key = query * size, key * size
    wanted = reference.sliding_window_attention(
        *(tensor.double() for tensor in (query, key, value)), window=4
    )
    output, weights = student.sliding_window_attention(query, key, value, window=4)
    assert_finite(weights, "weights")
    assert_finite(output, "output")
    # At such scores the rounding of float32 itself moves a weight by up to about 1e-2.
    assert_close(weights, wanted[1], "weights", tol=(0.0, 5e-2))
    assert_rows_sum_to_one(weights, AXES)


@check(
    "gradient",
    points=2,
    title="Gradients reach query, key and value, and are right",
    hint="Is anything detached, converted to numbers, or computed without grad?",
)
@pytest.mark.parametrize("window", [1, 3, T])
def test_gradients(student, reference, draw, window):
    named = dict(zip(("query", "key", "value"), inputs(draw, B, H), strict=True))

    def call(module):
        return lambda *tensors: module.sliding_window_attention(*tensors, window=window)

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
        return lambda q, k: module.sliding_window_attention(q, k, value, window=3)

    named = {"query": query, "key": key}
    assert_same_gradients(call(student), call(reference), named, draw, which=1)


@check(
    "dtype",
    points=1,
    title="The dtype that goes in comes out: float32, float64 and bfloat16",
    hint="Does a line name a dtype, or make a tensor of its own with the default one?",
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_dtype(student, reference, draw, dtype):
    arguments = inputs(draw, B, dtype=dtype)
    wanted = reference.sliding_window_attention(*(t.double() for t in arguments), window=3)
    output, weights = student.sliding_window_attention(*arguments, window=3)
    assert_dtype(output, dtype, "output")
    assert_dtype(weights, dtype, "weights")
    assert_close(weights, wanted[1], "weights", tol=tolerance(dtype))
    assert_close(output, wanted[0], "output", tol=tolerance(dtype))


@check(
    "device",
    points=1,
    title="Runs on whatever device its inputs are on",
    hint="Does a line name a device, or make a tensor without asking its inputs where they are?",
)
def test_no_device_of_its_own(student):
    query, key, value = (torch.empty(B, T, width, device="meta") for width in (D, D, DV))
    output, weights = student.sliding_window_attention(query, key, value, window=3)
    if output.device.type != "meta" or weights.device.type != "meta":
        raise CheckFailure("Your results are on another device than the inputs.")
    assert_shape(output, [("B", B), ("T", T), ("Dv", DV)], "output")


# -- manners ---------------------------------------------------------------------------------------


@check(
    "purity",
    points=1,
    title="Query, key and value stay as they were",
    hint="Does a line work in place (+=, masked_fill_, div_) on something that came from outside?",
)
def test_inputs_untouched(student, draw):
    named = dict(zip(("query", "key", "value"), inputs(draw, B), strict=True))
    before = {name: tensor.clone() for name, tensor in named.items()}
    student.sliding_window_attention(*named.values(), window=3)
    assert_unchanged(before, named)


@check(
    "dropout",
    points=1,
    title="Equal inputs give equal results, whatever came in between",
    hint="This function has no dropout. Is anything in it random, or kept from call to call?",
)
def test_same_inputs_same_results(student, draw):
    arguments = inputs(draw, B, H)
    first, first_weights = student.sliding_window_attention(*arguments, window=3)
    student.sliding_window_attention(*inputs(draw, B, H), window=5)
    second, second_weights = student.sliding_window_attention(*arguments, window=3)
    words = "Two calls with equal inputs gave different results."
    assert_close(second_weights, first_weights, "weights", message=words)
    assert_close(second, first, "output", message=words)


@check(
    "batch",
    points=1,
    title="The items of a batch, and the heads, do not see each other",
    hint="Change one item. May another item's output move?",
)
def test_items_are_independent(student, draw):
    def call(*tensors):
        return student.sliding_window_attention(*tensors, window=3)[0]

    assert_items_independent(call, inputs(draw, 3, H), draw)


@check(
    "layout",
    points=1,
    title="Inputs need not be contiguous in memory",
    hint="view() wants contiguous memory; reshape() does not.",
)
def test_inputs_that_are_not_contiguous(student, reference, draw):
    query = draw.normal(B, T, H, D).transpose(1, 2)
    key = draw.normal(B, T, H, D).transpose(1, 2)
    value = draw.normal(B, H, DV, T).transpose(2, 3)
    assert_equals_reference(student, reference, (query, key, value), 3)
    expanded = draw.normal(1, H, T, D).expand(B, H, T, D)
    assert_equals_reference(student, reference, (query, expanded, value), 4)


@check(
    "policy",
    points=1,
    title="Written without F.scaled_dot_product_attention",
    hint="The point here is to write the steps yourself.",
)
def test_written_by_hand(student, draw, forbidden_uses):
    assert_started(student.sliding_window_attention, *inputs(draw), window=3)
    assert_not_forbidden(forbidden_uses)


# -- probes ----------------------------------------------------------------------------------------

SIZES = (
    {"leading": (2, 3), "length": 6, "width": 5, "value_width": 7, "window": 3},
    {"leading": (4,), "length": 7, "width": 3, "value_width": 2, "window": 4},
)
SQUARE = (
    {"leading": (2,), "length": 5, "width": 6, "value_width": 6, "window": 2},
    {"leading": (2, 3), "length": 7, "width": 5, "value_width": 5, "window": 5},
)


def results(student, arguments, window):
    output, weights = student.sliding_window_attention(*arguments, window=window)
    return {"output": output, "weights": weights}


@probe(*SIZES)
def probe_values(student, draw, leading, window, **sizes):
    return results(student, inputs(draw, *leading, **sizes), window)


@probe(*SQUARE)
def probe_equal_widths(student, draw, leading, window, **sizes):
    return results(student, inputs(draw, *leading, **sizes), window)


@probe({"length": 5, "window": 5}, {"length": 4, "window": 6})
def probe_long_window(student, draw, length, window):
    return results(student, inputs(draw, 2, length=length), window)


@probe({"length": 5}, {"length": 8})
def probe_window_of_one(student, draw, length):
    return results(student, inputs(draw, 2, length=length), 1)


@probe({"window": 0}, {"window": -2})
def probe_window_below_one(student, draw, window):
    return results(student, inputs(draw, 2), window)


@probe({"length": 3, "width": 4}, {"length": 5, "width": 2})
def probe_no_leading_axes(student, draw, length, width):
    return results(student, inputs(draw, length=length, width=width), 2)


@probe({"length": 1, "width": 2}, {"length": 3, "width": 1})
def probe_axes_of_size_one(student, draw, length, width):
    arguments = inputs(draw, 2, 1, length=length, width=width, value_width=4)
    return results(student, arguments, min(2, length))


@probe(*SIZES)
def probe_keys_before_are_huge(student, draw, leading, length, window, **sizes):
    query, key, value = inputs(draw, *leading, length=length, **sizes)
    key[..., 0, :] *= 1e4
    value[..., 0, :] = 1e6
    return results(student, (query, key, value), window)


@probe(*SIZES)
def probe_scores_in_the_window_are_low(student, draw, leading, length, window, **sizes):
    query, key, value = inputs(draw, *leading, length=length, **sizes)
    query, key = query.abs(), -key.abs() * 2e4 * (torch.arange(length) + 1.0).unsqueeze(-1)
    return results(student, (query, key, value), window)


@probe(*SIZES)
def probe_large_scores(student, draw, leading, window, **sizes):
    query, key, value = inputs(draw, *leading, **sizes)
    return results(student, (query * 20, key * 20, value), window)


@probe(*SIZES)
def probe_inputs_afterwards(student, draw, leading, window, **sizes):
    arguments = inputs(draw, *leading, **sizes)
    before = [tensor.clone() for tensor in arguments]
    student.sliding_window_attention(*arguments, window=window)
    # However it changes them, it is one fault.
    return {
        name: torch.tensor(float(torch.equal(tensor, copy)))
        for name, tensor, copy in zip(("query", "key", "value"), arguments, before, strict=True)
    }


@probe(*SIZES)
def probe_bfloat16(student, draw, leading, window, **sizes):
    found = results(student, inputs(draw, *leading, dtype=torch.bfloat16, **sizes), window)
    # Right answers round at different places; only the dtype is compared.
    return {name: torch.zeros(1, dtype=tensor.dtype) for name, tensor in found.items()}


@probe(*SIZES)
def probe_float64(student, draw, leading, window, **sizes):
    return results(student, inputs(draw, *leading, dtype=torch.float64, **sizes), window)


@probe(*SIZES)
def probe_gradients(student, draw, leading, window, **sizes):
    leaves = [tensor.requires_grad_() for tensor in inputs(draw, *leading, **sizes)]
    output, weights = student.sliding_window_attention(*leaves, window=window)
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


@probe(*SIZES)
def probe_not_contiguous(student, draw, leading, length, width, value_width, window):
    query = draw.normal(*leading, width, length).transpose(-1, -2)
    key = draw.normal(*leading, width, length).transpose(-1, -2)
    value = draw.normal(*leading, value_width, length).transpose(-1, -2)
    return results(student, (query, key, value), window)


@probe({"width": 3}, {"width": 6})
def probe_meta(student, draw, width):
    tensors = [torch.empty(2, 5, n, device="meta") for n in (width, width, 4)]
    output, weights = student.sliding_window_attention(*tensors, window=3)
    return {
        "output": torch.tensor(float(output.is_meta)),
        "weights": torch.tensor(float(weights.is_meta)),
    }
