"""Hidden suite of `online_softmax`.

Every size is distinct, so that no axis can stand in for another: B 2, H 6, T 4, S 8, D 7, Dv 9.
Where block sizes are not what is graded they divide the lengths.
"""

import math

import pytest
import torch
from support_functions import assert_items_independent

from grader.suite import (
    CheckFailure,
    StudentError,
    assert_close,
    assert_dtype,
    assert_finite,
    assert_not_forbidden,
    assert_raises,
    assert_same_gradients,
    assert_shape,
    assert_started,
    assert_unchanged,
    check,
    measured,
    probe,
    tolerance,
)

B, H, T, S, D, DV = 2, 6, 4, 8, 7, 9
LEADING = {"no batch": (), "a batch": (B,), "batch and heads": (B, H)}
BLOCKS = {
    "of one": (1, 1),
    "that do not divide": (3, 3),
    "that divide": (2, 2),
    "of the length": (T, S),
    "beyond the length": (T + 6, S + 3),
    "one long and one short": (T, 1),
    "one short and one long": (1, S),
}
TWO_FOUR = {"query_block": 2, "key_block": 4}

ENDLESS = 2**32
"""A length at which no tensor has room for a number a pair, nor for one a pair with a block."""
LONG, SHORT = 2**31, 2**28
"""Blocks: LONG times SHORT numbers have room, even of 8 bytes each; LONG times ENDLESS have not."""
MANY = 6144
"""A length at which a float32 for each pair takes more than the memory of the assignment."""


def inputs(draw, *leading, queries=T, keys=S, width=D, value_width=DV, dtype=torch.float32):
    """Query, key and value with the given leading axes."""
    return (
        draw.normal(*leading, queries, width, dtype=dtype),
        draw.normal(*leading, keys, width, dtype=dtype),
        draw.normal(*leading, keys, value_width, dtype=dtype),
    )


def exact(query, key, value):
    """Output and logsumexp, by the whole matrix of scores in float64."""
    query, key, value = query.double(), key.double(), value.double()
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    return scores.softmax(-1) @ value, scores.logsumexp(-1)


def assert_exact(student, arguments, *, tol=None, **blocks):
    """Output and logsumexp are the exact ones."""
    # What is expected first: the student's code may write into what it is given.
    wanted_output, wanted_logsumexp = exact(*arguments)
    output, logsumexp = student.online_softmax_attention(*arguments, **blocks)
    assert_close(output, wanted_output, "output", tol=tol)
    assert_close(logsumexp, wanted_logsumexp, "logsumexp", tol=tol)


# -- memory ----------------------------------------------------------------------------------------


def assert_room(student, arguments, **blocks):
    """The student's results, if no tensor that is made on the way is too large."""
    try:
        return student.online_softmax_attention(*arguments, **blocks)
    except StudentError as error:
        words = f"{error.raised.type} {error.raised.message}".lower()
        if any(word in words for word in ("overflow", "memory", "allocate")):
            raise CheckFailure(
                "Your code makes a tensor with more numbers than a block of queries has scores "
                "with a block of keys. No matrix may grow with both lengths.",
                str(error),
            ) from None
        raise


@check(
    "policy",
    points=4,
    title="No tensor is larger than a block of scores: none is T x S, nor a block by a length",
    hint="Which of your tensors has an axis of length T or S, beside the inputs and the results?",
)
@pytest.mark.parametrize(
    ("query_block", "key_block"), [(SHORT, LONG), (LONG, SHORT)], ids=["short-long", "long-short"]
)
def test_no_matrix_of_all_scores(student, query_block, key_block):
    arguments = [torch.empty(ENDLESS, width, device="meta") for width in (2, 2, 3)]
    output, logsumexp = assert_room(
        student, arguments, query_block=query_block, key_block=key_block
    )
    assert_shape(output, [("T", ENDLESS), ("Dv", 3)], "output")
    assert_shape(logsumexp, [("T", ENDLESS)], "logsumexp")


@check(
    "policy",
    points=2,
    title="Long sequences fit into little memory, and the result is right",
    hint="How much memory do your intermediate results take for 6,000 queries and as many keys?",
)
def test_little_memory(student, draw):
    arguments = inputs(draw, queries=MANY, keys=MANY, width=2, value_width=1)
    query, key, value = arguments
    some = torch.arange(0, MANY, 512)
    wanted_output, wanted_logsumexp = exact(query[some], key, value)
    output, logsumexp = assert_room(student, arguments, query_block=512, key_block=768)
    assert_shape(output, [("T", MANY), ("Dv", 1)], "output")
    assert_shape(logsumexp, [("T", MANY)], "logsumexp")
    assert_close(output[some], wanted_output, "output", tol=(1e-3, 1e-4))
    assert_close(logsumexp[some], wanted_logsumexp, "logsumexp", tol=(1e-3, 1e-4))


# -- shape and errors ------------------------------------------------------------------------------


@check(
    "shape",
    points=2,
    title="Output is (..., T, Dv) and logsumexp is (..., T), whatever axes come first",
    hint="Write the shape of each intermediate result beside its line. Which line changes them?",
)
@pytest.mark.parametrize("leading", LEADING.values(), ids=LEADING)
def test_shapes(student, draw, leading):
    output, logsumexp = student.online_softmax_attention(*inputs(draw, *leading), **TWO_FOUR)
    names = [("B", B), ("H", H)][: len(leading)]
    if output.shape == (*leading, T) and logsumexp.shape == (*leading, T, DV):
        raise CheckFailure("Output and logsumexp are swapped: the output comes first.")
    assert_shape(output, [*names, ("T", T), ("Dv", DV)], "output")
    assert_shape(logsumexp, [*names, ("T", T)], "logsumexp")


@check(
    "shape",
    points=1,
    title="Axes of size 1 stay: one query, one key, one head, one feature",
    hint="Does something drop axes of size 1, such as squeeze()?",
)
@pytest.mark.parametrize(
    "sizes", [(1, 1, 1, 4, 3), (1, 3, 1, 1, 2), (3, 1, 4, 1, 5), (1, 1, 1, 1, 1)], ids=str
)
def test_axes_of_size_one(student, draw, sizes):
    batch, heads, queries, keys, width = sizes
    arguments = inputs(
        draw, batch, heads, queries=queries, keys=keys, width=width, value_width=width
    )
    output, logsumexp = student.online_softmax_attention(
        *arguments, query_block=queries, key_block=keys
    )
    assert_shape(output, [("B", batch), ("H", heads), ("T", queries), ("D", width)], "output")
    assert_shape(logsumexp, [("B", batch), ("H", heads), ("T", queries)], "logsumexp")


@check(
    "errors",
    points=1,
    title="A block size below 1 raises ValueError, either of them",
    hint="How many blocks are there, if a block holds nothing?",
)
@pytest.mark.parametrize("blocks", [(0, 3), (2, 0), (-1, 3), (2, -4)], ids=str)
def test_block_below_one(student, draw, blocks):
    query_block, key_block = blocks
    arguments = inputs(draw, B)
    with assert_raises(ValueError, when="a block size is below 1"):
        student.online_softmax_attention(*arguments, query_block=query_block, key_block=key_block)


# -- values ----------------------------------------------------------------------------------------


@check(
    "values",
    points=3,
    title="With one block that holds everything, output and logsumexp are right",
    hint="Nothing has to be corrected yet. Which step of the handout goes wrong?",
    shows="three queries and four keys",
)
@pytest.mark.parametrize("leading", LEADING.values(), ids=LEADING)
def test_values_of_one_block(student, draw, leading):
    assert_exact(student, inputs(draw, *leading), query_block=T, key_block=S)


@check(
    "values",
    points=4,
    title="Output and logsumexp are exact for every block size",
    hint="What was added up before a larger score came: what is it worth afterwards?",
    shows="the worked example",
)
@pytest.mark.parametrize("blocks", BLOCKS.values(), ids=BLOCKS)
def test_values_of_blocks(student, draw, blocks):
    query_block, key_block = blocks
    assert_exact(student, inputs(draw, B, H), query_block=query_block, key_block=key_block)
    other = inputs(draw, queries=9, keys=6, width=3, value_width=2)
    assert_exact(student, other, query_block=query_block, key_block=key_block)


@check(
    "values",
    points=2,
    title="The order of the keys does not matter: rising scores, falling scores",
    hint="Which of your lines takes for granted that the largest score comes first, or last?",
    shows="the worked example",
)
@pytest.mark.parametrize("descending", [False, True], ids=["rising", "falling"])
def test_order_of_keys(student, draw, descending):
    query, key, value = inputs(draw, B)
    query = query.abs()
    key = key.sort(dim=-2, descending=descending).values * 2
    assert_exact(student, (query, key, value), **TWO_FOUR)
    assert_exact(student, (query, key, value), query_block=1, key_block=1)


@check(
    "scale",
    points=2,
    title="Scores are divided by the square root of the key width",
    hint="Two keys whose raw scores differ by D: what has to be the ratio of their shares?",
)
@pytest.mark.parametrize("width", [3, 6, 11])
def test_ratio_of_two_keys(student, width):
    query = torch.ones(1, width)
    key = torch.stack([torch.ones(width), torch.zeros(width)])
    output, _ = student.online_softmax_attention(
        query, key, torch.eye(2), query_block=1, key_block=1
    )
    assert_shape(output, [("T", 1), ("Dv", 2)], "output")
    assert_finite(output, "output")
    ratio = float(output[0, 0].log() - output[0, 1].log())
    if not abs(ratio - math.sqrt(width)) <= 1e-3 * width:
        raise CheckFailure(
            "Two keys whose scores differ by D get shares in the wrong ratio.",
            measured("log ratio {:.4f}, expected {:.4f}", ratio, math.sqrt(width)),
        )


# -- numbers ---------------------------------------------------------------------------------------


@check(
    "numerics",
    points=2,
    title="Large scores give finite and right results, in any block",
    hint="Which number is subtracted before exp, and can a score be far above it?",
)
@pytest.mark.parametrize("size", [30.0, 300.0])
def test_large_scores(student, draw, size):
    query, key, value = inputs(draw, B)
    # At such scores the rounding of float32 itself moves a share by up to about 1e-2.
    assert_exact(student, (query * size, key * size, value), tol=(1e-3, 1e-1), **TWO_FOUR)
    assert_exact(
        student, (query * size, key * size, value), tol=(1e-3, 1e-1), query_block=1, key_block=1
    )


@check(
    "numerics",
    points=2,
    title="Scores that rise or fall steeply from block to block give right results",
    hint="What does exp give of the difference of two blocks' largest scores, if it is 300?",
)
@pytest.mark.parametrize("step", [300.0, -300.0], ids=["rising", "falling"])
def test_steep_scores(student, draw, step):
    query, key, value = inputs(draw, B)
    query = torch.ones_like(query)
    key = key * 0.1 + step * (torch.arange(S) // 4).view(S, 1) / D
    assert_exact(student, (query, key, value), tol=(1e-3, 1e-2), **TWO_FOUR)


@check(
    "numerics",
    points=1,
    title="Scores far below zero give right results, also where another query's are large",
    hint="Which score is m before the first block, and whose largest score is subtracted?",
)
@pytest.mark.parametrize("together", [False, True], ids=["all", "beside large ones"])
def test_low_scores(student, draw, together):
    query, key, value = inputs(draw, B)
    key = 30.0 + key.abs()
    query = -5.0 * torch.ones_like(query)
    if together:
        query[:, ::2] *= -1
        query[1] *= -1
    assert_exact(student, (query, key, value), tol=(1e-3, 1e-2), **TWO_FOUR)


@check(
    "gradient",
    points=2,
    title="Gradients reach query, key and value, and are right",
    hint="Is anything detached, written in place, or computed without grad?",
)
@pytest.mark.parametrize("blocks", [(2, 4), (T, S)], ids=str)
def test_gradients(student, reference, draw, blocks):
    named = dict(zip(("query", "key", "value"), inputs(draw, B, H), strict=True))
    options = {"query_block": blocks[0], "key_block": blocks[1]}

    def call(module):
        return lambda *tensors: module.online_softmax_attention(*tensors, **options)

    assert_same_gradients(call(student), call(reference), named, draw)


@check(
    "gradient",
    points=1,
    title="Gradients flow through the logsumexp too",
    hint="Is the logsumexp that you return still connected to query and key?",
)
def test_gradients_of_logsumexp(student, reference, draw):
    query, key, value = inputs(draw, B)

    def call(module):
        return lambda q, k: module.online_softmax_attention(q, k, value, **TWO_FOUR)

    named = {"query": query, "key": key}
    assert_same_gradients(call(student), call(reference), named, draw, which=1)


@check(
    "dtype",
    points=1,
    title="The dtype that goes in comes out: float32, float64 and bfloat16",
    hint="Does a line name a dtype, or make a tensor of its own with the default one?",
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_dtype(student, draw, dtype):
    arguments = inputs(draw, B, dtype=dtype)
    wanted_output, wanted_logsumexp = exact(*arguments)
    output, logsumexp = student.online_softmax_attention(*arguments, **TWO_FOUR)
    assert_dtype(output, dtype, "output")
    assert_dtype(logsumexp, dtype, "logsumexp")
    assert_close(output, wanted_output, "output", tol=tolerance(dtype))
    assert_close(logsumexp, wanted_logsumexp, "logsumexp", tol=tolerance(dtype))


@check(
    "device",
    points=1,
    title="Runs on whatever device its inputs are on",
    hint="Does a line name a device, or make a tensor without asking its inputs where they are?",
)
def test_no_device_of_its_own(student):
    query, key, value = (torch.empty(B, n, d, device="meta") for n, d in ((T, D), (S, D), (S, DV)))
    output, logsumexp = student.online_softmax_attention(query, key, value, **TWO_FOUR)
    if output.device.type != "meta" or logsumexp.device.type != "meta":
        raise CheckFailure("Your results are on another device than the inputs.")
    assert_shape(output, [("B", B), ("T", T), ("Dv", DV)], "output")


# -- manners ---------------------------------------------------------------------------------------


@check(
    "purity",
    points=1,
    title="Query, key and value stay as they were",
    hint="Does a line work in place (+=, mul_, div_) on a slice of something from outside?",
)
def test_inputs_untouched(student, draw):
    named = dict(zip(("query", "key", "value"), inputs(draw, B), strict=True))
    before = {name: tensor.clone() for name, tensor in named.items()}
    student.online_softmax_attention(*named.values(), **TWO_FOUR)
    assert_unchanged(before, named)


@check(
    "batch",
    points=1,
    title="The items of a batch, and the heads, do not see each other",
    hint="Change one item. May another item's output move?",
)
def test_items_are_independent(student, draw):
    def call(*tensors):
        return student.online_softmax_attention(*tensors, **TWO_FOUR)[0]

    assert_items_independent(call, inputs(draw, 3, H), draw)


@check(
    "layout",
    points=1,
    title="Inputs need not be contiguous in memory",
    hint="view() wants contiguous memory; reshape() does not.",
)
def test_inputs_that_are_not_contiguous(student, draw):
    query = draw.normal(B, T, H, D).transpose(1, 2)
    key = draw.normal(B, S, H, D).transpose(1, 2)
    value = draw.normal(B, H, DV, S).transpose(2, 3)
    assert_exact(student, (query, key, value), **TWO_FOUR)
    expanded = draw.normal(1, H, S, D).expand(B, H, S, D)
    assert_exact(student, (query, expanded, value), **TWO_FOUR)


@check(
    "policy",
    points=1,
    title="Written without F.scaled_dot_product_attention",
    hint="The point here is to write the steps yourself.",
)
def test_written_by_hand(student, draw, forbidden_uses):
    assert_started(student.online_softmax_attention, *inputs(draw), **TWO_FOUR)
    assert_not_forbidden(forbidden_uses)


# -- probes ----------------------------------------------------------------------------------------

SIZES = (
    {"leading": (2, 3), "queries": 5, "keys": 8, "width": 6, "value_width": 7},
    {"leading": (4,), "queries": 7, "keys": 5, "width": 3, "value_width": 2},
)


def results(student, arguments, query_block=2, key_block=3):
    output, logsumexp = student.online_softmax_attention(
        *arguments, query_block=query_block, key_block=key_block
    )
    return {"output": output, "logsumexp": logsumexp}


@probe(*SIZES)
def probe_values(student, draw, leading, **sizes):
    return results(student, inputs(draw, *leading, **sizes))


@probe(*SIZES)
def probe_one_block(student, draw, leading, **sizes):
    arguments = inputs(draw, *leading, **sizes)
    return results(student, arguments, sizes["queries"], sizes["keys"])


@probe(*SIZES)
def probe_long_blocks(student, draw, leading, **sizes):
    return results(student, inputs(draw, *leading, **sizes), 11, 12)


@probe(*SIZES)
def probe_blocks_of_one(student, draw, leading, **sizes):
    return results(student, inputs(draw, *leading, **sizes), 1, 1)


@probe({"queries": 6, "keys": 8, "blocks": (3, 4)}, {"queries": 4, "keys": 9, "blocks": (2, 3)})
def probe_blocks_that_divide(student, draw, queries, keys, blocks):
    return results(student, inputs(draw, 2, queries=queries, keys=keys), *blocks)


@probe({"blocks": (0, 3)}, {"blocks": (-2, 3)})
def probe_no_query_block(student, draw, blocks):
    return results(student, inputs(draw, 2), *blocks)


@probe({"blocks": (2, 0)}, {"blocks": (2, -1)})
def probe_no_key_block(student, draw, blocks):
    return results(student, inputs(draw, 2), *blocks)


@probe({"queries": 3, "keys": 4}, {"queries": 4, "keys": 2})
def probe_no_leading_axes(student, draw, queries, keys):
    return results(student, inputs(draw, queries=queries, keys=keys))


@probe({"queries": 1, "keys": 3, "width": 2}, {"queries": 3, "keys": 1, "width": 1})
def probe_axes_of_size_one(student, draw, queries, keys, width):
    arguments = inputs(draw, 2, 1, queries=queries, keys=keys, width=width, value_width=4)
    return results(student, arguments, queries, keys)


@probe(*({**sizes, "step": step} for step in (300.0, -300.0) for sizes in SIZES))
def probe_steep(student, draw, leading, keys, step, **sizes):
    query, key, value = inputs(draw, *leading, keys=keys, **sizes)
    key = key * 0.1 + step * (torch.arange(keys) // 3).view(keys, 1) / key.shape[-1]
    return results(student, (torch.ones_like(query), key, value))


@probe(*SIZES)
def probe_low(student, draw, leading, **sizes):
    query, key, value = inputs(draw, *leading, **sizes)
    query = -query.abs() - 1
    query[..., ::2, :] *= -1
    return results(student, (query, 50 + key.abs(), value))


@probe(*SIZES)
def probe_all_low(student, draw, leading, **sizes):
    query, key, value = inputs(draw, *leading, **sizes)
    return results(student, (-query.abs() - 1, 80 + key.abs(), value))


@probe({"blocks": (SHORT, LONG)}, {"blocks": (SHORT // 2, LONG)})
def probe_room_for_queries(student, draw, blocks):
    arguments = [torch.empty(ENDLESS, width, device="meta") for width in (2, 2, 3)]
    output, _ = student.online_softmax_attention(
        *arguments, query_block=blocks[0], key_block=blocks[1]
    )
    return {"made": torch.tensor(float(output.is_meta))}


@probe({"blocks": (LONG, SHORT)}, {"blocks": (LONG, SHORT // 2)})
def probe_room_for_keys(student, draw, blocks):
    arguments = [torch.empty(ENDLESS, width, device="meta") for width in (2, 2, 3)]
    output, _ = student.online_softmax_attention(
        *arguments, query_block=blocks[0], key_block=blocks[1]
    )
    return {"made": torch.tensor(float(output.is_meta))}


@probe(*SIZES)
def probe_gradients(student, draw, leading, **sizes):
    leaves = [tensor.requires_grad_() for tensor in inputs(draw, *leading, **sizes)]
    found = {}
    for name, result in results(student, leaves).items():
        if not result.requires_grad:
            continue
        total = (result * draw.normal(*result.shape)).sum()
        gradients = torch.autograd.grad(total, leaves, allow_unused=True, retain_graph=True)
        for leaf, gradient in zip(("query", "key", "value"), gradients, strict=True):
            if gradient is not None:
                found[f"{name}/{leaf}"] = gradient
    return found


@probe(*SIZES)
def probe_bfloat16(student, draw, leading, **sizes):
    found = results(student, inputs(draw, *leading, dtype=torch.bfloat16, **sizes))
    # Right answers round at different places; only the dtype is compared.
    return {name: torch.zeros(1, dtype=tensor.dtype) for name, tensor in found.items()}


@probe(*SIZES)
def probe_meta(student, draw, leading, queries, keys, width, value_width):
    sizes = ((queries, width), (keys, width), (keys, value_width))
    tensors = [torch.empty(*leading, *size, device="meta") for size in sizes]
    found = results(student, tensors)
    return {name: torch.tensor(float(tensor.is_meta)) for name, tensor in found.items()}


@probe(*SIZES)
def probe_inputs_afterwards(student, draw, leading, **sizes):
    arguments = inputs(draw, *leading, **sizes)
    before = [tensor.clone() for tensor in arguments]
    results(student, arguments)
    # However it changes them, it is one fault.
    return {
        name: torch.tensor(float(torch.equal(tensor, copy)))
        for name, tensor, copy in zip(("query", "key", "value"), arguments, before, strict=True)
    }


@probe(*SIZES)
def probe_not_contiguous(student, draw, leading, queries, keys, width, value_width):
    query = draw.normal(*leading, width, queries).transpose(-1, -2)
    key = draw.normal(*leading, width, keys).transpose(-1, -2)
    value = draw.normal(*leading, value_width, keys).transpose(-1, -2)
    return results(student, (query, key, value))
