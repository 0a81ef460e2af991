"""Hidden suite of `cached_mha`. The sizes, all distinct, are in `support_cached_mha`."""

import math

import pytest
import torch
from support_cached_mha import (
    CHUNKS,
    LENGTH,
    NAMES,
    B,
    C,
    D,
    H,
    S,
    T,
    decode,
    halves_as_pairs,
    linear_weights,
    module,
    ragged,
    random_weights,
    read,
    reading_weights,
    run,
    shown,
    step,
    tagged,
)

# The grader finds probes among the names of this module.
from support_cached_mha_probes import *  # noqa: F403

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
    tolerance,
)

AXES = ("batch", "heads", "queries", "keys")


def pair(student, reference, draw, weights=None, **options):
    """The student's module and the reference's, with the same weights."""
    weights = random_weights(draw) if weights is None else weights
    return module(student, weights, **options), module(reference, weights, **options)


def assert_equal_outputs(mine, theirs, *tokens, message=None, **options):
    output, wanted = run(mine, *tokens, **options), run(theirs, *tokens, **options)
    assert_close(output, wanted, "output", message=message)


def ones(*shape):
    return torch.ones(shape, dtype=torch.bool)


def one_pass(mine, x, draw, **options):
    """What one causal pass of the student's own gives; it has to depend on what came before.

    Chunks are compared with it, so that a mistake that has nothing to do with them costs nothing.
    """
    whole = run(mine, x, causal=True)
    assert_shape(whole, [("B", B), ("T", x.shape[1]), ("C", C)], "output")
    assert_finite(whole, "output")
    other = torch.cat((draw.normal(B, 1, C), x[:, 1:]), dim=1)
    if bool((run(mine, other, causal=True) == whole).all(-1).any()):
        raise CheckFailure("A position does not see the first token.")
    return run(mine, x, causal=True, **options) if options else whole


# -- shape and parameters --------------------------------------------------------------------------


@check(
    "shape",
    points=1,
    title="The output is (B, T, C) for self- and cross-attention, size-1 axes included",
    hint="Write the shape of each intermediate result beside its line. Which line changes them?",
)
@pytest.mark.parametrize(
    "sizes",
    [(B, H, D, T, S), (1, 2, 3, 4, 5), (3, 1, 4, 2, 5), (2, 3, 1, 1, 4), (3, 2, 4, 5, 1), (1,) * 5],
    ids=["all-differ", "one-sequence", "one-head", "one-query", "one-key", "all-one"],
)
def test_output_shape(student, draw, sizes):
    batch, heads, width, queries, keys = sizes
    full = heads * width
    mine = module(student, random_weights(draw, full), embed_dim=full, num_heads=heads)
    wanted = [("B", batch), ("T", queries), ("C", full)]
    query, key_value = draw.normal(batch, queries, full), draw.normal(batch, keys, full)
    assert_shape(run(mine, query, key_value), wanted, "output")
    assert_shape(run(mine, query), wanted, "output")
    assert_shape(step(mine, query, causal=True)[0], wanted, "output")


@check(
    "parameters",
    points=1,
    title="The four matrices that are loaded are the ones that are used",
    hint="With W_q or W_k zero every key gets the same share. If yours are packed in another way, "
    "does load_weights put each where it belongs?",
)
@pytest.mark.parametrize("zero", NAMES)
def test_loaded_weights_are_used(student, draw, zero):
    weights = random_weights(draw)
    weights[zero] = torch.zeros(C, C)
    query, key_value = draw.normal(B, T, C), draw.normal(B, S, C)
    output = run(module(student, weights), query, key_value)
    mean = (key_value @ weights["W_v"].T).mean(dim=1, keepdim=True) @ weights["W_o"].T
    words = f"With {zero} loaded as zeros your output is not what that makes of it."
    assert_close(output, mean.expand(B, T, C), "output", message=words)


@check(
    "parameters",
    points=1,
    title="Every parameter is registered, lasts from call to call, and is trained",
    hint="Are all four projections made in the constructor, and is each of them used?",
)
def test_parameters_are_trained(student, reference, draw):
    mine, theirs = pair(student, reference, draw)
    x, cotangent = draw.normal(B, T, C), draw.normal(B, T, C)
    before = sorted(name for name, _ in mine.named_parameters())
    first = run(mine, x)
    assert_shape(first, [("B", B), ("T", T), ("C", C)], "output")
    assert_close(run(mine, x), first, "output", message="Two equal calls give different results.")
    (first * cotangent).sum().backward()
    (run(theirs, x) * cotangent).sum().backward()
    if sorted(name for name, _ in mine.named_parameters()) != before:
        raise CheckFailure("Your module makes new parameters when it is called.")
    expected = dict(theirs.named_parameters())
    for name, parameter in mine.named_parameters():
        if parameter.grad is None or (parameter.dim() > 1 and not bool(parameter.grad.any())):
            raise CheckFailure("No gradient reaches one of your parameters.", name)
        if name in expected and parameter.shape == expected[name].shape:
            what = f"gradient of {name}"
            assert_close(parameter.grad, expected[name].grad, what, tol=(1e-3, 1e-4))


@check(
    "parameters",
    points=1,
    title="Four projections of C x C and nothing else; `bias` says whether they have biases",
    hint="Does `bias` reach all four projections? Is any of them shared, missing or extra?",
)
def test_parameter_count(student, draw):
    weights, x = random_weights(draw), draw.normal(B, T, C)
    counts = {}
    for bias in (True, False):
        mine = module(student, weights, **({} if bias else {"bias": False}))
        run(mine, x)
        counts[bias] = sum(parameter.numel() for parameter in mine.parameters())
    detail = f"{counts[True]} numbers with bias, {counts[False]} without, C is {C}"
    if counts[False] != 4 * C * C:
        raise CheckFailure("With bias=False your module does not hold just four matrices.", detail)
    if counts[True] == counts[False]:
        raise CheckFailure("With biases, which are the default, your module has none.", detail)


# -- weights, read from outside --------------------------------------------------------------------


@check(
    "row-sum",
    points=1,
    title="In every head each query shares out exactly 1 among its keys",
    hint="What has to be true of the weights of one query, however many keys there are?",
    shows="two heads, no mask",
)
@pytest.mark.parametrize("kind", ["cross", "self", "mask", "causal", "padding"])
def test_rows_sum_to_one(student, draw, kind):
    mine, key_value = module(student, reading_weights(draw)), tagged(draw, B, S)
    query = key_value if kind in ("self", "causal") else draw.normal(B, T, C)
    options = {
        "mask": {"attention_mask": draw.mask(B, H, T, S)},
        "causal": {"causal": True},
        "padding": {"key_padding_mask": draw.mask(B, S)},
    }
    output = run(mine, query, key_value, **options.get(kind, {}))
    assert_rows_sum_to_one(shown(output, S), AXES)


@check(
    "wrong-axis",
    points=1,
    title="The weights are normalised over the keys and over no other axis",
    hint="A query shares out 1 among the keys. Which axis are the keys on?",
    shows="two heads, no mask",
)
def test_normalised_over_the_keys(student, draw):
    mine, key_value = module(student, reading_weights(draw)), tagged(draw, B, S)
    for query in (draw.normal(B, T, C), key_value):
        weights = shown(run(mine, query, key_value), S)
        assert_finite(weights, "weights")
        other = normalised_axis(weights, AXES)
        if other is not None:
            raise CheckFailure(f"Your weights sum to 1 over {other}, not over the keys.")


@check(
    "scale",
    points=1,
    title="Scores are divided by the square root of the width of one head",
    hint="Two keys whose raw scores differ by D: what has to be the ratio of their weights?",
)
@pytest.mark.parametrize("heads_width", [(3, 8), (2, 5), (1, 6)], ids=str)
def test_ratio_of_two_keys(student, heads_width):
    heads, width = heads_width
    full = heads * width
    first = torch.zeros(full, full)
    first[:, 0] = 1.0
    two = torch.zeros(full, full)
    two[torch.arange(heads) * width, 0] = two[torch.arange(heads) * width + 1, 1] = 1.0
    weights = {"W_q": first, "W_k": first, "W_v": two, "W_o": torch.eye(full)}
    mine = module(student, weights, embed_dim=full, num_heads=heads)
    tokens = torch.eye(full)[None]
    output = run(mine, tokens[:, :1], tokens[:, :2])
    assert_shape(output, [("B", 1), ("T", 1), ("C", full)], "output")
    assert_finite(output, "output")
    found = output.detach().unflatten(-1, (heads, width))[0, 0, :, :2].log()
    ratios = found[:, 0] - found[:, 1]
    if bool(((ratios - math.sqrt(width)).abs() <= 1e-3 * width).all()):
        return
    known = {
        float(width): "They are what they would be without any scale.",
        1.0: "They are what dividing by the width itself gives, without the root.",
        width * math.sqrt(width): "They are what multiplying by the root gives.",
        width / math.sqrt(full): "They are what the root of the whole width C gives.",
        width / math.sqrt(2): "They are what the root of the number of keys gives.",
    }
    ratio = float(ratios[0])
    words = next((text for value, text in known.items() if abs(ratio - value) < 1e-2), "")
    raise CheckFailure(
        f"Two keys whose scores differ by D get weights in the wrong ratio. {words}".strip(),
        measured("log ratio {:.4f}, expected {:.4f}", ratio, math.sqrt(width)),
    )


@check(
    "heads",
    points=1,
    title="Head h lives in columns hD to (h+1)D and in no other",
    hint="To split, which of the two comes first: cutting C into (H, D), or moving the heads "
    "before the positions? And in which order is that undone?",
    shows="two heads, no mask",
)
@pytest.mark.parametrize("name", ["W_q", "W_k", "W_v"])
def test_heads_do_not_mix(student, draw, name):
    weights = random_weights(draw) | {"W_o": torch.eye(C)}
    query, key_value = draw.normal(B, T, C), draw.normal(B, S, C)
    before = run(module(student, weights), query, key_value)
    assert_shape(before, [("B", B), ("T", T), ("C", C)], "output")
    for head in range(H):
        own = torch.zeros(C, dtype=torch.bool)
        own[head * D : (head + 1) * D] = True
        changed = weights[name].clone()
        changed[own] = draw.normal(D, C, std=C**-0.5)
        after = run(module(student, weights | {name: changed}), query, key_value)
        words = "What belongs to one head changes the columns of another."
        assert_close(after[..., ~own], before[..., ~own], "output", message=words)
        if bool((after[..., own] == before[..., own]).all(-1).any()):
            raise CheckFailure("What belongs to one head does not reach that head's columns.")


# -- values ----------------------------------------------------------------------------------------


@check(
    "values",
    points=1,
    title="The output is right for self-attention, with key_value None or the query itself",
    hint="Compute one row by hand, as the handout does.",
)
def test_values_of_self_attention(student, reference, draw):
    mine, theirs = pair(student, reference, draw)
    x = draw.normal(B, T, C)
    assert_equal_outputs(mine, theirs, x)
    assert_equal_outputs(mine, theirs, x, x)
    assert_equal_outputs(mine, theirs, x, causal=True)


@check(
    "values",
    points=1,
    title="The output is right for cross-attention, and for axes of size 1",
    hint="Queries come from `query`, keys and values from `key_value`. T and S differ here.",
)
@pytest.mark.parametrize(
    "sizes",
    [(B, H, D, T, S), (B, H, D, S, T), (3, 1, 4, 2, 5), (1, 4, 2, 1, 3), (2, 3, 4, 5, 1)],
    ids=["more-keys", "more-queries", "one-head", "one-query", "one-key"],
)
def test_values_of_cross_attention(student, reference, draw, sizes):
    batch, heads, width, queries, keys = sizes
    full = heads * width
    weights = random_weights(draw, full)
    mine, theirs = pair(student, reference, draw, weights, embed_dim=full, num_heads=heads)
    assert_equal_outputs(
        mine, theirs, draw.normal(batch, queries, full), draw.normal(batch, keys, full)
    )


@check(
    "numerics",
    points=1,
    title="Large scores give finite and right results",
    hint="exp(100) is more than float32 holds. What may be subtracted from a row before exp?",
)
def test_large_scores(student, reference, draw):
    x = tagged(draw, B, S)
    for size in (6.0, 20.0):
        weights = reading_weights(draw)
        weights |= {name: weights[name] * size for name in ("W_q", "W_k")}
        mine = module(student, weights)
        theirs = module(reference, weights, dtype=torch.float64)
        for options in ({}, {"causal": True}):
            output = run(mine, x, **options)
            assert_finite(output, "output")
            # At such scores the rounding of float32 itself moves a weight by up to about 1e-2.
            assert_close(output, run(theirs, x.double(), **options), "output", tol=(0.0, 5e-2))


# -- masks -----------------------------------------------------------------------------------------


@check(
    "mask",
    points=1,
    title="Attention masks of every rank: True allows, False blocks",
    hint="Lift each rank to (B, H, T, S). Where do the new axes go?",
    shows="two heads and a mask",
)
@pytest.mark.parametrize(
    "shape",
    [(T, S), (B, T, S), (B, 1, T, S), (B, H, T, S), (1, 1, T, S), (1, H, T, S)],
    ids=lambda shape: f"{len(shape)}-axes-{'x'.join(map(str, shape))}",
)
def test_mask_ranks(student, draw, shape):
    mine = module(student, reading_weights(draw))
    query, key_value, mask = draw.normal(B, T, C), tagged(draw, B, S), draw.mask(*shape)
    weights = shown(run(mine, query, key_value, attention_mask=mask), S)
    assert_finite(weights, "weights")
    lifted = mask[:, None] if mask.dim() == 3 else mask
    allowed = lifted.expand(B, H, T, S)
    if bool((weights[allowed] < 1e-12).all()):
        raise CheckFailure("Your mask is inverted: the blocked keys get the weight.")
    if float(weights[~allowed].abs().max()) > 1e-6:
        raise CheckFailure("Keys that the mask blocks still get weight.")
    if bool((weights[allowed] <= 0).any()):
        raise CheckFailure("Keys that the mask allows get no weight.")
    assert_rows_sum_to_one(weights, AXES)
    free = shown(run(mine, query, key_value), S) * allowed
    words = "A mask has to leave the ratios among allowed keys as they are; yours changes them."
    assert_close(weights, free / free.sum(-1, keepdim=True), "weights", message=words)


@check(
    "mask",
    points=1,
    title="A mask with three axes is one for each sequence, even where there are as many heads",
    hint="Where B equals H, a (B, T, S) mask also fits the heads. Which axis has to be added?",
)
def test_three_axes_where_batch_equals_heads(student, draw):
    mine = module(student, random_weights(draw))
    query, key_value, mask = draw.normal(H, T, C), draw.normal(H, S, C), draw.mask(H, T, S)
    output = run(mine, query, key_value, attention_mask=mask)
    assert_shape(output, [("B", H), ("T", T), ("C", C)], "output")
    for item in range(H):
        one = slice(item, item + 1)
        alone = run(mine, query[one], key_value[one], attention_mask=mask[item])
        words = "With B = H your (B, T, S) mask is not used as one mask for each sequence."
        assert_close(output[one], alone, "output", message=words)
    if torch.equal(output, run(mine, query, key_value)):
        raise CheckFailure("A mask with three axes makes no difference to your output.")


@check(
    "mask",
    points=1,
    title="Padded keys get no weight and have no influence, in any head",
    hint="key_padding_mask is (B, S). Which axes of (B, H, T, S) has it to be spread over?",
    shows="a prompt with padding",
)
@pytest.mark.parametrize("kind", ["cross", "self"])
def test_key_padding(student, draw, kind):
    mine, key_value, valid = module(student, reading_weights(draw)), tagged(draw, B, S), ones(B, S)
    valid[0, 3] = valid[0, 5] = valid[1, 4:] = False
    query = draw.normal(B, T, C) if kind == "cross" else key_value
    weights = shown(run(mine, query, key_value, key_padding_mask=valid), S)
    assert_finite(weights, "weights")
    there = valid[:, None, None].expand(weights.shape)
    if bool((weights[there] < 1e-12).all()):
        raise CheckFailure("Your key padding mask is inverted: padding gets the weight.")
    if float(weights[~there].abs().max()) > 1e-6:
        raise CheckFailure("Padded keys still get weight.")
    if bool((weights[there] <= 0).any()):
        raise CheckFailure("Keys that are not padding get no weight.")
    assert_rows_sum_to_one(weights, AXES)
    mask = draw.mask(len(weights[0, 0]), S)
    mask[:, 0] = True
    options = {"key_padding_mask": valid, "attention_mask": mask}
    both = shown(run(mine, query, key_value, **options), S)
    allowed = there & mask
    if bool((both[~allowed].abs() > 1e-6).any()) or bool((both[allowed] <= 0).any()):
        raise CheckFailure("With two masks, a key has to be allowed by both to get weight.")


@check(
    "mask",
    points=1,
    title="Blocked keys have no influence, whatever they hold and however low the others score",
    hint="Which number can a blocked score be that no other score can fall below?",
)
@pytest.mark.parametrize("kind", ["mask", "padding", "causal"])
def test_blocked_keys_have_no_influence(student, draw, kind):
    first = torch.zeros(C, C)
    first[torch.arange(H) * D, 0] = 1.0
    weights = reading_weights(draw) | {"W_q": first, "W_k": first}
    mine, key_value = module(student, weights), tagged(draw, B, S)
    # Column 0 decides: allowed keys score far below 0, blocked ones as far above.
    query = draw.normal(B, S, C)
    query[..., 0] = -1e5
    allowed = torch.ones(S, S, dtype=torch.bool).tril()
    options = {"causal": True}
    if kind == "mask":
        allowed = draw.mask(S, S)
        options = {"attention_mask": allowed}
    if kind == "padding":
        allowed = (torch.arange(S) < 4).expand(S, S)
        options = {"key_padding_mask": allowed[:B].contiguous()}
    for row in range(S):
        key_value[..., 0] = torch.where(allowed[row], 1.0, -1.0)
        output = shown(run(mine, query, key_value, **options), S)[:, :, row]
        wanted = (allowed[row] / allowed[row].sum()).expand(output.shape)
        words = "Blocked keys get weight where the allowed ones have very low scores."
        # So far from 0 float32 is coarse: a logarithm of the sum is off by more than 1e-2.
        assert_close(output, wanted, "weights", message=words, tol=(0.0, 5e-2))


@check(
    "mask",
    points=1,
    title="Outputs of padded queries are exactly 0; all other outputs stay as they are",
    hint="query_padding_mask acts on the very end of the calculation: after W_o and its bias.",
)
@pytest.mark.parametrize("kind", ["cross", "self"])
def test_query_padding(student, draw, kind):
    mine = module(student, random_weights(draw), output_bias=draw.normal(C))
    query, valid = draw.normal(B, T, C), draw.mask(B, T)
    tokens = (query, draw.normal(B, S, C)) if kind == "cross" else (query,)
    full = run(mine, *tokens)
    assert_shape(full, [("B", B), ("T", T), ("C", C)], "output")
    output = run(mine, *tokens, query_padding_mask=valid)
    if output.shape == full.shape and bool((output[~valid] != 0).any()):
        raise CheckFailure("Outputs of padded queries are not 0.")
    words = "A mask of padded queries changes the outputs of queries that are not padded."
    assert_close(output, full * valid[..., None], "output", message=words)


@check(
    "causal-leak",
    points=1,
    title="With causal=True no position sees a later one",
    hint="Change the last token. Which outputs may move?",
    shows="three tokens, causal",
)
@pytest.mark.parametrize("rope", [False, True], ids=["plain", "rope"])
def test_no_leak_from_later_tokens(student, draw, rope):
    mine = module(student, random_weights(draw), use_rope=rope)
    assert_no_leak(lambda x: run(mine, x, causal=True), draw.normal(B, S, C), draw)


@check(
    "causal-leak",
    points=1,
    title="With causal=True and a cache no position of the chunk sees a later one",
    hint="A chunk of several tokens comes after cached ones. Which keys may its first query see?",
    shows="a prompt of one token, then two at once",
)
@pytest.mark.parametrize("rope", [False, True], ids=["plain", "rope"])
def test_no_leak_within_a_chunk(student, draw, rope):
    mine = module(student, random_weights(draw), use_rope=rope)
    prompt, x = draw.normal(B, 3, C), draw.normal(B, 4, C)

    def call(tokens, before=prompt):
        _, cache = step(mine, before, causal=True)
        return step(mine, tokens, cache=cache, causal=True)[0]

    assert_no_leak(call, x, draw)
    for place in range(3):
        other = prompt.clone()
        other[:, place] = draw.normal(B, C)
        if bool((call(x, other) == call(x)).all(-1).any()):
            raise CheckFailure("A position of the chunk does not see every cached token.")


def assert_no_leak(call, x, draw):
    before = call(x)
    length = x.shape[1]
    assert_shape(before, [("B", B), ("T", length), ("C", C)], "output")
    for place in range(1, length):
        later = x.clone()
        later[:, place:] = draw.normal(B, length - place, C) * 2
        after = call(later)
        words = "An output moves when only later tokens change: the future leaks."
        assert_close(after[:, :place], before[:, :place], "output", message=words)
        if bool((after[:, place:] == before[:, place:]).all(-1).any()):
            raise CheckFailure("A position does not see a token that it may see.")


# -- positions -------------------------------------------------------------------------------------


@check(
    "positions",
    points=1,
    title="Causal compares positions: key offset + j is allowed up to query offset + i",
    hint="Write down the positions of three queries and of the keys. Which pairs are allowed?",
)
@pytest.mark.parametrize(
    ("kind", "query_offset", "key_offset"),
    [
        ("cross", None, 0),
        ("cross", 3, 0),
        ("cross", 4, 2),
        ("cross", 2, 2),
        ("self", 2, 0),
        ("self", None, 4),
        ("self", 5, 4),
    ],
)
def test_causal_with_offsets(student, draw, kind, query_offset, key_offset):
    mine, key_value = module(student, reading_weights(draw)), tagged(draw, B, S)
    tokens = (draw.normal(B, T, C), key_value) if kind == "cross" else (key_value,)
    options = {} if query_offset is None else {"query_position_offset": query_offset}
    output = run(mine, *tokens, causal=True, key_position_offset=key_offset, **options)
    weights = shown(output, S)
    start = (key_offset if kind == "self" else 0) if query_offset is None else query_offset
    allowed = key_offset + torch.arange(S) <= (start + torch.arange(weights.shape[2]))[:, None]
    allowed = allowed.expand(weights.shape)
    if bool((weights[~allowed].abs() > 1e-9).any()):
        raise CheckFailure("A query gives weight to a key at a later position.")
    if bool((weights[allowed] <= 1e-9).any()):
        raise CheckFailure("A query gives no weight to a key that is not at a later position.")


@check(
    "positions",
    points=2,
    title="RoPE turns adjacent columns of queries and keys by position times frequency",
    hint="Position 0 stays as it is. What becomes of the pair (1, 0) in columns 0 and 1 at "
    "position 1?",
    shows="three tokens, causal, with RoPE",
)
@pytest.mark.parametrize("kind", ["self", "cross", "causal"])
def test_rope_values(student, reference, draw, kind):
    weights, x = random_weights(draw), draw.normal(B, S, C)
    mine, theirs = pair(student, reference, draw, weights, use_rope=True)
    tokens = (draw.normal(B, T, C), x) if kind == "cross" else (x,)
    options = {"causal": kind == "causal"}
    output, wanted = run(mine, *tokens, **options), run(theirs, *tokens, **options)
    assert_shape(output, [("B", B), ("T", tokens[0].shape[1]), ("C", C)], "output")
    halves = weights | {name: halves_as_pairs(weights[name]) for name in ("W_q", "W_k")}
    known = {
        "Your output is what the half-split layout gives, which pairs column i with column "
        "i + D/2. Here pairs are adjacent columns.": module(reference, halves, use_rope=True),
        "Your output is the same as without RoPE.": module(reference, weights),
    }
    for words, variant in known.items():
        found = run(variant, *tokens, **options)
        if torch.allclose(output.to(x.dtype), found.to(x.dtype), rtol=1e-4, atol=1e-5):
            raise CheckFailure(words)
    assert_close(output, wanted, "output")


@check(
    "positions",
    points=1,
    title="Offsets move the positions that RoPE turns by",
    hint="Queries start at one position, keys at another. Where does each start by default?",
)
@pytest.mark.parametrize(
    ("kind", "query_offset", "key_offset"),
    [
        ("cross", 3, 0),
        ("cross", None, 9),
        ("cross", 40, 2),
        ("self", None, 6),
        ("self", 4, 0),
        ("self", 0, 5),
    ],
)
def test_rope_offsets(student, reference, draw, kind, query_offset, key_offset):
    mine, theirs = pair(student, reference, draw, use_rope=True)
    x = draw.normal(B, S, C)
    tokens = (draw.normal(B, T, C), x) if kind == "cross" else (x,)
    options = {"key_position_offset": key_offset}
    if query_offset is not None:
        options["query_position_offset"] = query_offset
    assert_equal_outputs(mine, theirs, *tokens, **options)


# -- cache -----------------------------------------------------------------------------------------


@check(
    "cache",
    points=1,
    title="The cache holds the keys, values and padding of every token so far, and its length",
    hint="key and value are (B, H, S, D), in the order in which the tokens came.",
)
@pytest.mark.parametrize("padded", [False, True], ids=["no-padding", "padding"])
def test_what_the_cache_holds(student, draw, padded):
    weights, x = random_weights(draw), draw.normal(B, LENGTH, C)
    valid = ragged(draw) if padded else None
    chunks = [3, 1, 2]
    _, caches = decode(module(student, weights), x, chunks, valid=valid)
    length = 0
    for cache, size in zip(caches, chunks, strict=True):
        length += size
        held = read(cache)
        sizes = [("B", B), ("H", H), ("S", length), ("D", D)]
        for name in ("key", "value"):
            tensor = getattr(held, name)
            assert_shape(tensor, sizes, f"cache's {name}")
            projected = x[:, :length] @ weights[f"W_{name[0]}"].T
            wanted = projected.unflatten(-1, (H, D)).transpose(1, 2)
            assert_close(tensor, wanted, f"cache's {name}")
        mask = held.key_padding_mask
        assert_shape(mask, [("B", B), ("S", length)], "cache's key_padding_mask")
        assert_dtype(mask, torch.bool, "cache's key_padding_mask")
        wanted = ones(B, LENGTH) if valid is None else valid
        if not torch.equal(mask, wanted[:, :length]):
            raise CheckFailure("Your cache's key_padding_mask does not say which keys are tokens.")
        if held.length != length:
            raise CheckFailure(
                "Your cache's length is not the number of positions that it holds.",
                f"expected {length}, got {held.length}",
            )


@check(
    "cache",
    points=2,
    title="A prompt and then chunks of any size give what one pass over everything gives",
    hint="Queries of a chunk come after the cached keys: which position has the first of them?",
    shows="a prompt of two tokens, then one",
)
def test_chunks_equal_one_pass(student, draw):
    mine, x = module(student, random_weights(draw)), draw.normal(B, LENGTH, C)
    wanted, everything = one_pass(mine, x, draw), run(mine, x)
    for chunks in CHUNKS:
        output, _ = decode(mine, x, chunks)
        assert_close(output, wanted, "output", message=WORDS)
    for chunks in CHUNKS[:4]:
        last = chunks[-1]
        output, _ = decode(mine, x, chunks, causal=False)
        words = "Without causal, the last chunk has to see every key, cached or new."
        assert_close(output[:, -last:], everything[:, -last:], "output", message=words)


WORDS = "Fed in chunks, your module does not give what one pass over everything gives."


@check(
    "positions",
    points=2,
    title="With RoPE, positions go on where the cache ends",
    hint="Which position do the new queries and the new keys start at? And is a key turned once?",
)
def test_chunks_with_rope(student, draw):
    weights, x, valid = random_weights(draw), draw.normal(B, LENGTH, C), ragged(draw)
    mine = module(student, weights, use_rope=True)
    wanted = one_pass(mine, x, draw)
    if torch.equal(run(module(student, weights), x, causal=True), wanted):
        raise CheckFailure("use_rope makes no difference to your output.")
    for chunks in CHUNKS:
        output, _ = decode(mine, x, chunks)
        assert_close(output, wanted, "output", message=WORDS)
    wanted = run(mine, x, causal=True, key_padding_mask=valid)
    for chunks in CHUNKS[:4]:
        output, _ = decode(mine, x, chunks, valid=valid)
        words = "With padding in the cache, positions do not go on from the cache's length."
        assert_close(output, wanted, "output", message=words)


@check(
    "cache",
    points=1,
    title="Padding in a prompt or a chunk stays padding in every later step",
    hint="key_padding_mask is about the new tokens only. Who remembers that of the old ones?",
    shows="a prompt with padding",
)
def test_chunks_with_ragged_padding(student, draw):
    mine, valid = module(student, random_weights(draw)), ragged(draw)
    x = draw.normal(B, LENGTH, C)
    wanted = one_pass(mine, x, draw, key_padding_mask=valid)
    if torch.equal(wanted, run(mine, x, causal=True)):
        raise CheckFailure("key_padding_mask makes no difference to your output.")
    zeroed = run(mine, x, causal=True, key_padding_mask=valid, query_padding_mask=valid)
    words = "Fed in chunks, padded keys are not treated as in one pass."
    for chunks in CHUNKS:
        output, _ = decode(mine, x, chunks, valid=valid)
        assert_close(output, wanted, "output", message=words)
    for chunks in CHUNKS[2:4]:
        output, caches = decode(mine, x, chunks, valid=valid, zeroed=True)
        assert_close(output, zeroed, "output", message=words)
    after = draw.normal(B, 1, C)
    output, _ = decode(mine, after, [1], cache=caches[-1])
    longer = {"key_padding_mask": torch.cat((valid, ones(B, 1)), dim=1)}
    wanted = run(mine, torch.cat((x, after), dim=1), causal=True, **longer)[:, -1:]
    words = "A step without padding of its own forgets the padding of the cached tokens."
    assert_close(output, wanted, "output", message=words)


@check(
    "cache",
    points=1,
    title="With a cache, an attention mask has a column for each key, cached or new",
    hint="How many keys does a query of this chunk have to choose from?",
)
def test_masks_over_cached_keys(student, draw):
    mine, x = module(student, random_weights(draw)), draw.normal(B, LENGTH, C)
    whole = one_pass(mine, x, draw)
    for shape in ((), (B,), (B, 1), (B, H), (1, H)):
        mask = draw.mask(*shape, LENGTH, LENGTH) | torch.eye(LENGTH, dtype=torch.bool)
        wanted = run(mine, x, attention_mask=mask, causal=True)
        if torch.equal(wanted, whole):
            raise CheckFailure("attention_mask makes no difference to your output.")
        for chunks in ([3, 1, 2], [2, 3, 1]):
            output, _ = decode(mine, x, chunks, mask=mask)
            assert_close(output, wanted, "output", message=WORDS)


@check(
    "cache",
    points=1,
    title="The cache that is passed in is the one that is used, also one made by hand",
    hint="Is everything that the next step needs in the KVCache, and nothing of it in the module?",
)
@pytest.mark.parametrize("rope", [False, True], ids=["plain", "rope"])
def test_cache_made_by_hand(student, draw, rope):
    weights, x, valid = random_weights(draw), draw.normal(B, LENGTH, C), ragged(draw)
    mine = module(student, weights, use_rope=rope)
    wanted = one_pass(mine, x, draw, key_padding_mask=valid)[:, 3:]
    _, (cache,) = decode(mine, x[:, :3], [3], valid=valid[:, :3])
    held = read(cache)
    given = dict(zip(("key", "value", "key_padding_mask"), held[:3], strict=True))
    before = {name: tensor.clone() for name, tensor in given.items()}
    made = student.KVCache(**given)
    if read(made).length != 3:
        raise CheckFailure("A KVCache's length is not the number of positions that it holds.")
    words = "Given a KVCache made by hand, your module does not go on from what is in it."
    for attention in (module(student, weights, use_rope=rope), mine):
        output, _ = decode(attention, x[:, 3:], [2, 1], cache=made, valid=valid[:, 3:])
        assert_close(output, wanted, "output", message=words)
    assert_unchanged(before, given)
    given["value"] = draw.normal(*given["value"].shape)
    output, _ = decode(mine, x[:, 3:], [3], cache=student.KVCache(**given))
    if bool((output == wanted).all(-1).any()):
        raise CheckFailure(words)


@check(
    "cache",
    points=1,
    title="A cache that was used stays as it was: two continuations of one prompt are possible",
    hint="Does a step write into the cache that it was given, or into memory that it shares?",
)
@pytest.mark.parametrize("rope", [False, True], ids=["plain", "rope"])
def test_old_cache_unchanged(student, draw, rope):
    mine = module(student, random_weights(draw), use_rope=rope)
    prompt, left, right = draw.normal(B, 3, C), draw.normal(B, 2, C), draw.normal(B, 2, C)
    more = draw.normal(B, 1, C)
    _, (old,) = decode(mine, prompt, [3])
    before = read(old)
    one, lefts = decode(mine, left, [1, 1], cache=old)
    middle = read(lefts[-1])
    two, _ = decode(mine, right, [2], cache=old)
    three, _ = decode(mine, more, [1], cache=lefts[-1])
    for was, cache in ((before, old), (middle, lefts[-1])):
        now = read(cache)
        same = all(torch.equal(a, b) for a, b in zip(was[:3], now[:3], strict=True))
        if not same or was.length != now.length:
            raise CheckFailure("A cache changes when it is used: what it held before is gone.")
    words = "The second continuation of a prompt sees what the first one added."
    whole = one_pass(mine, torch.cat((prompt, left, more), dim=1), draw)
    assert_close(one, whole[:, 3:5], "output", message=WORDS)
    assert_close(three, whole[:, 5:], "output", message=words)
    whole = run(mine, torch.cat((prompt, right), dim=1), causal=True)
    assert_close(two, whole[:, 3:], "output", message=words)


@check(
    "cache",
    points=1,
    title="Two prompts, one after the other or by turns, do not see each other",
    hint="Does the module itself remember anything from an earlier call?",
)
def test_two_prompts(student, draw):
    mine = module(student, random_weights(draw))
    first, second = draw.normal(B, 4, C), draw.normal(B, 4, C)
    words = "What an earlier prompt left behind changes the answer to a later one."
    wanted = [one_pass(mine, x, draw) for x in (first, second)]
    decode(mine, first, [2, 1, 1])
    assert_close(run(mine, second, causal=True), wanted[1], "output", message=words)
    output, _ = decode(mine, second, [2, 1, 1])
    assert_close(output, wanted[1], "output", message=words)
    one, (cache_one,) = decode(mine, first[:, :2], [2])
    two, (cache_two,) = decode(mine, second[:, :2], [2])
    one_more, _ = decode(mine, first[:, 2:], [1, 1], cache=cache_one)
    two_more, _ = decode(mine, second[:, 2:], [2], cache=cache_two)
    for output, expected in zip(((one, one_more), (two, two_more)), wanted, strict=True):
        assert_close(torch.cat(output, dim=1), expected, "output", message=words)


LARGE = {
    "many-sequences": (300, 4, 2),
    "many-heads": (2, 300, 300),
    "a-wide-head": (2, 300, 1),
}
"""B, C and H beyond the 256 up to which Python keeps one object for each whole number."""


@check(
    "cache",
    points=1,
    title="What is allowed with a cache is not refused",
    hint="Which calls does the handout allow with use_cache? Is one of them refused?",
)
@pytest.mark.parametrize(
    "kind",
    [
        *("query-as-key-value", "its-own-offset", "no-dropout-in-training", "dropout-in-eval"),
        *LARGE,
    ],
)
def test_allowed_with_a_cache(student, draw, kind):
    if kind in LARGE:
        batch, width, heads = LARGE[kind]
        mine = module(student, random_weights(draw, width), embed_dim=width, num_heads=heads)
        decode(mine, draw.normal(batch, 3, width), [2, 1])
        return
    dropout = 0.5 if kind == "dropout-in-eval" else 0.0
    mine = module(student, random_weights(draw), dropout=dropout)
    if kind == "no-dropout-in-training":
        mine.train()
    x = draw.normal(B, LENGTH, C)
    whole = one_pass(mine, x, draw)
    outputs, cache, start = [], {}, 0
    for size in (3, 2, 1):
        tokens = x[:, start : start + size].contiguous()
        both = (tokens, tokens) if kind == "query-as-key-value" else (tokens,)
        offset = {"query_position_offset": start} if kind == "its-own-offset" else {}
        output, after = step(mine, *both, causal=True, **cache, **offset)
        cache = {"cache": after}
        outputs.append(output)
        start += size
    assert_close(torch.cat(outputs, dim=1), whole, "output", message=WORDS)


# -- errors ----------------------------------------------------------------------------------------


@check(
    "errors",
    points=1,
    title="Widths that do not divide are refused, and odd heads with RoPE",
    hint="C has to be a multiple of H; RoPE turns pairs of columns.",
)
@pytest.mark.parametrize("kind", ["heads", "rope"])
def test_sizes_that_do_not_divide(student, draw, kind):
    x = draw.normal(B, T, 15)
    run(module(student, random_weights(draw, 15), embed_dim=15, num_heads=3), x)
    if kind == "heads":
        with assert_raises(ValueError, AssertionError, when="C is not a multiple of H"):
            student.CachedMultiHeadAttention(embed_dim=15, num_heads=4)
    else:
        with assert_raises(ValueError, AssertionError, when="RoPE is used with an odd width D"):
            student.CachedMultiHeadAttention(embed_dim=15, num_heads=3, use_rope=True)(x)


@check(
    "errors",
    points=1,
    title="Tokens that are not (B, T, C), or not as many sequences of keys, raise ValueError",
    hint="Which shapes of query and key_value are declared? Which wrong ones happen to run?",
)
@pytest.mark.parametrize("kind", ["query", "no-token", "key-value"])
def test_tokens_of_another_shape(student, draw, kind):
    mine = module(student, random_weights(draw))
    right = draw.normal(B, T, C), draw.normal(B, S, C)
    run(mine, *right)
    if kind == "query":
        wrong = [((C,),), ((T, C),), ((B, H, T, C),), ((B, T, C + H),)]
        # With other tokens as keys no look at those finds the mistake.
        wrong += [((B, T, C + H), (B, S, C)), ((B, T, C - H), (B, S, C))]
        when = "query is not (B, T, C)"
    elif kind == "no-token":
        wrong = [((B, 0, C),), ((B, 0, C), (B, S, C))]
        when = "query holds no token"
    else:
        keys = [
            (S, C),
            (B, C),
            (B, S, 1, C),
            (B, S, C - H),
            (B, S, C + H),
            (B + 1, S, C),
            (1, S, C),
        ]
        wrong = [*(((B, T, C), shape) for shape in keys), ((1, T, C), (B, S, C))]
        when = "key_value is not (B, S, C) with the query's B"
    for shapes in wrong:
        with assert_raises(ValueError, when=when):
            mine(*(draw.normal(*shape) for shape in shapes))


MASK_SHAPES = {"attention_mask": (T, S), "key_padding_mask": (B, S), "query_padding_mask": (B, T)}
each_mask = pytest.mark.parametrize("name", MASK_SHAPES)


@check(
    "errors",
    points=1,
    title="A mask that is not bool raises TypeError, each of the three",
    hint="Are the dtypes of all three masks looked at before they are used?",
)
@each_mask
def test_masks_that_are_not_bool(student, draw, name):
    mine = module(student, random_weights(draw))
    tokens = draw.normal(B, T, C), draw.normal(B, S, C)
    mask = ones(*MASK_SHAPES[name])
    run(mine, *tokens, **{name: mask})
    for dtype in (torch.int64, torch.float32, torch.uint8):
        with assert_raises(TypeError, when=f"{name} is not bool"):
            mine(*tokens, **{name: mask.to(dtype)})


def assert_masks_refused(student, draw, name, shapes):
    mine = module(student, random_weights(draw))
    tokens = draw.normal(B, T, C), draw.normal(B, S, C)
    run(mine, *tokens, **{name: ones(*MASK_SHAPES[name])})
    for shape in shapes:
        with assert_raises(ValueError, when=f"{name} has a shape that the handout does not list"):
            mine(*tokens, **{name: ones(*shape)})


@check(
    "errors",
    points=1,
    title="A mask of another size, or with too few or too many axes, raises ValueError",
    hint="Which shapes of each mask are declared? An error of PyTorch's own is no ValueError.",
)
@each_mask
def test_masks_of_another_size(student, draw, name):
    shapes = {
        "attention_mask": [
            *((S,), (T, S + 1), (S, T), (B + 2, T, S), (B, S, T), (B, H + 1, T, S)),
            *((B + 2, 1, T, S), (B, H, T, S + 1), (B, H, S, T), (1, B, H, T, S)),
        ],
        "key_padding_mask": [(B, S + 1), (B, T), (S,)],
        "query_padding_mask": [(B, T + 1), (B, S), (T,)],
    }
    assert_masks_refused(student, draw, name, shapes[name])


@check(
    "errors",
    points=1,
    title="A mask that would only fit by broadcasting raises ValueError",
    hint="Only B and H of a mask with four axes may be 1. What does your code do with other ones?",
)
@each_mask
def test_masks_that_only_broadcast(student, draw, name):
    shapes = {
        "attention_mask": [
            *((1, S), (T, 1), (1, T, S), (H, T, S), (B, 1, S), (B, 1, 1, S), (B, H, T, 1)),
        ],
        "key_padding_mask": [(1, S), (B, 1)],
        "query_padding_mask": [(1, T), (B, 1)],
    }
    assert_masks_refused(student, draw, name, shapes[name])


@check(
    "errors",
    points=1,
    title="With a cache too, masks have exactly the declared sizes",
    hint="attention_mask is about all keys, key_padding_mask about the new ones.",
)
def test_mask_sizes_with_a_cache(student, draw):
    mine = module(student, random_weights(draw))
    prompt, x = draw.normal(B, 3, C), draw.normal(B, 2, C)
    for name, right, wrong in (
        ("attention_mask", (2, 5), (2, 2)),
        ("attention_mask", (B, 2, 5), (B, 2, 3)),
        ("key_padding_mask", (B, 2), (B, 5)),
        ("query_padding_mask", (B, 2), (B, 5)),
    ):
        _, cache = step(mine, prompt, causal=True)
        step(mine, x, cache=cache, **{name: ones(*right)})
        _, cache = step(mine, prompt, causal=True)
        with assert_raises(ValueError, when=f"{name} has the wrong size for a step with a cache"):
            mine(x, cache=cache, use_cache=True, **{name: ones(*wrong)})


@check(
    "errors",
    points=1,
    title="A query with no allowed key raises ValueError, in whichever way it comes about",
    hint="Ask once, when all masks have been combined: is anything left for each query?",
)
@pytest.mark.parametrize(
    "kind",
    ["one-query", "one-query-of-one-head", "all-padding", "two-masks", "causal-padding", "offsets"],
)
def test_query_without_keys(student, draw, kind):
    mine = module(student, random_weights(draw))
    query, key_value = draw.normal(B, T, C), draw.normal(B, S, C)
    mask, valid = ones(B, H, T, S), ones(B, S)
    run(mine, query, key_value, attention_mask=mask, key_padding_mask=valid, causal=True)
    options = {"attention_mask": mask, "key_padding_mask": valid}
    if kind == "one-query":
        mask[1, :, 3] = False
    elif kind == "one-query-of-one-head":
        mask[1, 2, 3] = False
    elif kind == "all-padding":
        valid[1] = False
    elif kind == "two-masks":
        valid[1, :4] = False
        mask[1, 0, 2, 4:] = False
    elif kind == "causal-padding":
        valid[1, 0] = False
        options["causal"] = True
    else:
        options |= {"causal": True, "key_position_offset": 3, "query_position_offset": 2}
    with assert_raises(ValueError, when="a query has no allowed key"):
        mine(query, key_value, **options)


@check(
    "errors",
    points=1,
    title="A query with no allowed key raises ValueError even if that query is padding",
    hint="Does query_padding_mask excuse a query from the rule? It only zeroes outputs.",
)
@pytest.mark.parametrize("kind", ["left-padding", "mask", "cache"])
def test_padded_query_without_keys(student, draw, kind):
    mine = module(student, random_weights(draw))
    x, valid = draw.normal(B, T, C), ones(B, T)
    run(mine, x, key_padding_mask=valid, query_padding_mask=valid, causal=True)
    if kind == "mask":
        mask = ones(T, T)
        mask[2] = False
        valid[:, 2] = False
        options = {"attention_mask": mask, "query_padding_mask": valid}
    else:
        valid[1, :2] = False
        options = {"key_padding_mask": valid, "query_padding_mask": valid, "causal": True}
    if kind == "cache":
        options["use_cache"] = True
    with assert_raises(ValueError, when="a padded query has no allowed key"):
        mine(x, **options)


@check(
    "errors",
    points=1,
    title="Positions below 0 raise ValueError",
    hint="Are both offsets looked at, with and without RoPE?",
)
@pytest.mark.parametrize("kind", ["cross", "self"])
def test_negative_positions(student, draw, kind):
    query, key = "query_position_offset", "key_position_offset"
    wrong = [{key: -2}, {query: -1}, {query: -1, key: -1}, {query: 3, key: -1}, {query: -1, key: 3}]
    x = draw.normal(B, T, C)
    tokens = (x, draw.normal(B, S, C)) if kind == "cross" else (x,)
    for rope in (False, True):
        mine = module(student, random_weights(draw), use_rope=rope)
        for offsets in wrong:
            run(mine, *tokens, **{name: abs(offset) for name, offset in offsets.items()})
            with assert_raises(ValueError, when="a position offset is negative"):
                mine(*tokens, **offsets)


@check(
    "errors",
    points=1,
    title="A cache is refused without use_cache, for cross-attention, and with dropout in training",
    hint="In which three situations would a cache be lost, or hold what nobody can use?",
)
@pytest.mark.parametrize(
    "kind",
    [
        "without-use-cache",
        "cross-prompt",
        "cross-step",
        "cross-step-of-equal-length",
        "dropout-prompt",
        "dropout-step",
    ],
)
def test_caching_refused(student, draw, kind):
    mine = module(student, random_weights(draw), dropout=0.3)
    x, other = draw.normal(B, T, C), draw.normal(B, S, C)
    _, cache = step(mine, draw.normal(B, 3, C), causal=True)
    step(mine, x, cache=cache, causal=True)
    if kind == "without-use-cache":
        with assert_raises(ValueError, when="a cache is passed without use_cache"):
            mine(x, cache=cache)
    elif kind.startswith("cross"):
        key_value = draw.normal(B, T, C) if kind.endswith("length") else other
        options = {} if kind == "cross-prompt" else {"cache": cache}
        with assert_raises(ValueError, when="cross-attention is asked for a cache"):
            mine(x, key_value, use_cache=True, **options)
    else:
        options = {} if kind == "dropout-prompt" else {"cache": cache}
        mine.train()
        with assert_raises(ValueError, when="a cache is asked for in training with dropout"):
            mine(x, use_cache=True, **options)


@check(
    "errors",
    points=1,
    title="With a cache, offsets other than its length raise ValueError",
    hint="Cached positions start at 0 and go on without a gap. Which offsets say the same?",
)
@pytest.mark.parametrize("cached", [False, True], ids=["prompt", "step"])
def test_cached_positions_go_on(student, draw, cached):
    query, key = "query_position_offset", "key_position_offset"
    wrong = [{query: 2}, {query: 1}, {key: 1}]
    if cached:
        wrong = [{query: 0}, {query: 2}, {query: 4}, {key: 3}, {query: 3, key: 3}]
    mine = module(student, random_weights(draw))
    _, cache = step(mine, draw.normal(B, 3, C), causal=True)
    options = {"cache": cache} if cached else {}
    x = draw.normal(B, 2, C)
    step(mine, x, query_position_offset=3 if cached else 0, **options)
    for offsets in wrong:
        with assert_raises(ValueError, when="an offset does not go on from the cache's length"):
            mine(x, use_cache=True, **options, **offsets)


@check(
    "errors",
    points=1,
    title="A cache of another batch, another number or another width of heads raises ValueError",
    hint="Which three sizes of a cache's key have to be this call's and this module's own?",
)
@pytest.mark.parametrize(
    "kind", ["batch", "one-sequence", "fewer-heads", "more-heads", "narrower", "wider"]
)
def test_cache_of_another_module(student, draw, kind):
    mine = module(student, random_weights(draw))
    x = draw.normal(B, T, C)
    _, own = step(mine, draw.normal(B, 3, C), causal=True)
    step(mine, x, cache=own, causal=True)
    others = {
        "fewer-heads": ((H - 1) * D, H - 1),
        "more-heads": ((H + 1) * D, H + 1),
        "narrower": (H * (D - 4), H),
        "wider": (H * (D + 4), H),
    }
    width, heads = others.get(kind, (C, H))
    batch = {"batch": B + 1, "one-sequence": 1}.get(kind, B)
    other = module(student, random_weights(draw, width), embed_dim=width, num_heads=heads)
    _, cache = step(other, draw.normal(batch, 3, width), causal=True)
    with assert_raises(ValueError, when="the cache does not fit this module or this batch"):
        mine(x, cache=cache, use_cache=True, causal=True)


# -- dropout, gradients, dtypes --------------------------------------------------------------------


@check(
    "dropout",
    points=1,
    title="In eval there is no dropout, whatever the rate",
    hint="Who decides whether dropout is active: the layer, or the module's training mode?",
)
def test_no_dropout_in_eval(student, draw):
    weights, x = random_weights(draw), draw.normal(B, T, C)
    mine, plain = module(student, weights, dropout=0.9), module(student, weights)
    wanted = run(plain, x, causal=True)
    words = "In eval your output is not what it is without dropout."
    assert_close(run(mine, x, causal=True), wanted, "output", message=words)
    mine.train()
    run(mine, x, causal=True)
    mine.eval()
    assert_close(run(mine, x, causal=True), wanted, "output", message=words)
    words = (
        "In training without dropout, which is the default, your output is not what it is in eval."
    )
    plain.train()
    assert_close(run(plain, x, causal=True), wanted, "output", message=words)


@check(
    "dropout",
    points=1,
    title="In training, dropout acts on the weights after softmax; survivors grow by 1/(1-p)",
    hint="A weight that is dropped takes its value's whole row with it. Where does yours act?",
)
def test_dropout_on_the_weights(student, draw):
    rate, queries, copies = 0.4, 400, D // 2
    columns = torch.tensor([C - 2, C - 1]).repeat(H * copies)
    weights = linear_weights(draw) | {"W_v": torch.eye(C)[columns], "W_o": torch.eye(C)}
    tags = torch.eye(2).expand(B, 2, 2)
    key_value = torch.cat((draw.normal(B, 2, C - 2), tags), dim=-1)
    mine, query = module(student, weights, dropout=rate), draw.normal(B, queries, C)
    kept = run(mine, query, key_value)
    assert_shape(kept, [("B", B), ("T", queries), ("C", C)], "output")
    if bool((kept == 0).any()):
        raise CheckFailure("In eval some weight is 0 already, so that nobody can see it dropped.")
    mine.train()
    first, second = run(mine, query, key_value), run(mine, query, key_value)
    if torch.equal(first, kept):
        raise CheckFailure("In training nothing is dropped.")
    if torch.equal(first, second):
        raise CheckFailure("In training the same weights are dropped in every call.")
    # Every weight is shown by 4 columns. If it is dropped, all of them are 0; a dropout on the
    # output as well, which is allowed, hardly ever takes all 4.
    by_weight = first.unflatten(-1, (H, copies, 2))
    gone = (by_weight == 0).all(dim=-2)
    share = float(gone.double().mean())
    if abs(share - rate) > 0.12:
        words = "The share of weights that are dropped is not the rate."
        if abs(share - (1 - rate)) <= 0.05:
            words = "Your rate is turned around: `dropout` is the share that is dropped."
        elif share < 0.1:
            words = "In training the weights themselves are not dropped."
        raise CheckFailure(words, measured("at rate {} the share of zeros is {:.3f}", rate, share))
    if bool((gone == gone[:, :1]).all()):
        raise CheckFailure("All queries lose the same keys: each weight has to be dropped alone.")
    alive = by_weight != 0
    ratios = (by_weight / kept.unflatten(-1, (H, copies, 2)))[alive].double() * (1 - rate)
    # With a dropout on the output as well, what survives grows twice.
    if not any(bool(((ratios - grown).abs() <= 1e-3).all()) for grown in (1.0, 1 / (1 - rate))):
        raise CheckFailure("The weights that survive are not multiplied by 1 / (1 - p).")


@check(
    "gradient",
    points=1,
    title="Gradients reach query and key_value, and are right",
    shows="which inputs the gradient reaches",
    hint="Is anything detached, converted to numbers, or computed without grad?",
)
@pytest.mark.parametrize("kind", ["cross", "self", "masks", "rope"])
def test_gradients(student, reference, draw, kind):
    mine, theirs = pair(student, reference, draw, use_rope=kind == "rope")
    named = {"query": draw.normal(B, T, C)}
    options = {}
    if kind in ("cross", "masks"):
        named["key_value"] = draw.normal(B, S, C)
    if kind == "masks":
        options = {"attention_mask": draw.mask(B, T, S), "query_padding_mask": draw.mask(B, T)}
    if kind == "rope":
        options = {"causal": True}

    def call(attention):
        return lambda *tokens: run(attention, *tokens, **options)

    assert_same_gradients(call(mine), call(theirs), named, draw)


@check(
    "dtype",
    points=1,
    title="float32 or float64 in, the same out, with masks, RoPE and a cache",
    hint="Does a line name a dtype, or make a tensor of its own with the default one?",
)
@pytest.mark.parametrize("rope", [False, True], ids=["plain", "rope"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_float64(student, draw, dtype, rope):
    assert_right_dtype(student, draw, random_weights(draw), dtype, rope)


@check(
    "dtype",
    points=1,
    title="bfloat16 in, bfloat16 out, with masks, RoPE and a cache",
    hint="Does a line name a dtype, or make a tensor of its own with the default one?",
)
@pytest.mark.parametrize("rope", [False, True], ids=["plain", "rope"])
def test_bfloat16(student, draw, rope):
    assert_right_dtype(student, draw, linear_weights(draw), torch.bfloat16, rope)


def assert_right_dtype(student, draw, weights, dtype, rope):
    """Results have ``dtype`` and are those of float32 for the same numbers."""
    weights = {name: matrix.to(dtype) for name, matrix in weights.items()}
    mine = module(student, weights, dtype=dtype, use_rope=rope)
    plain = module(student, weights, use_rope=rope)
    x, valid = draw.normal(B, LENGTH, C).to(dtype), ragged(draw)
    masks = {"key_padding_mask": valid, "query_padding_mask": valid, "causal": True}
    mask = draw.mask(LENGTH, LENGTH)
    mask[:, 0] = True
    output = run(mine, x, attention_mask=mask, **masks)
    assert_dtype(output, dtype, "output")
    wanted = run(plain, x.float(), attention_mask=mask, **masks)
    words = "Your output is not what it is in float32, for the same numbers."
    tol = tolerance(dtype)
    assert_close(output, wanted, "output", message=words, tol=tol)
    output, caches = decode(mine, x, [3, 1, 2], valid=valid)
    assert_dtype(output, dtype, "output")
    assert_dtype(read(caches[-1]).key, dtype, "cache's key")
    wanted, _ = decode(plain, x.float(), [3, 1, 2], valid=valid)
    assert_close(output, wanted, "output", message=words, tol=tol)


# -- manners ---------------------------------------------------------------------------------------


@check(
    "batch",
    points=1,
    title="The sequences of a batch do not see each other",
    hint="Change one sequence. May another one's output move?",
)
def test_sequences_are_independent(student, draw):
    mine = module(student, random_weights(draw))
    x, key_value, more = draw.normal(3, T, C), draw.normal(3, S, C), draw.normal(3, 2, C)

    def outputs(query, keys, chunk):
        chunks = torch.cat((query, chunk), dim=1)
        return run(mine, query, keys), run(mine, query), decode(mine, chunks, [T, 1, 1])[0]

    before = outputs(x, key_value, more)
    changed = [tensor.clone() for tensor in (x, key_value, more)]
    for tensor in changed:
        tensor[1] = draw.normal(*tensor.shape[1:])
    for was, now in zip(before, outputs(*changed), strict=True):
        assert_shape(now, [("B", 3), ("T", was.shape[1]), ("C", C)], "output")
        words = "Changing one sequence of the batch moves the output of another."
        assert_close(now[[0, 2]], was[[0, 2]], "output", message=words)
        if bool((now[1] == was[1]).all()):
            raise CheckFailure("Changing a sequence does not move its own output.")


@check(
    "batch",
    points=1,
    title="A short prompt, padded beside a longer one, gets the answer that it gets alone",
    hint="What is different for the short prompt: its padding, or something of its neighbour's?",
    shows="a prompt with padding",
)
def test_ragged_equals_alone(student, draw):
    mine = module(student, random_weights(draw))
    x, after = draw.normal(B, LENGTH, C), draw.normal(B, 3, C)
    lengths = (LENGTH, 4)
    valid = torch.arange(LENGTH) < torch.tensor(lengths)[:, None]
    prompt, (cache,) = decode(mine, x, [LENGTH], valid=valid)
    output, _ = decode(mine, after, [1, 2], cache=cache)
    for item, length in enumerate(lengths):
        one = slice(item, item + 1)
        alone, (own,) = decode(mine, x[one, :length], [length])
        words = "Beside a longer prompt, a short one does not get the answer that it gets alone."
        assert_close(prompt[one, :length], alone, "output", message=words)
        alone, _ = decode(mine, after[one], [1, 2], cache=own)
        assert_close(output[one], alone, "output", message=words)


@check(
    "purity",
    points=1,
    title="Tokens and masks that are passed in stay as they were",
    hint="Does a line work in place (+=, masked_fill_, &=) on something that came from outside?",
)
@pytest.mark.parametrize("kind", ["cross", "self", "cache"])
def test_inputs_untouched(student, draw, kind):
    mine = module(student, random_weights(draw), use_rope=True)
    keys = S if kind == "cross" else T
    named = {
        "query": draw.normal(B, T, C),
        "key_value": draw.normal(B, S, C),
        "attention_mask": draw.mask(B, H, T, keys),
        "key_padding_mask": ones(B, keys),
        "query_padding_mask": draw.mask(B, T),
    }
    named["key_padding_mask"][1, 3] = False
    named["attention_mask"][..., 0] = True
    before = {name: tensor.clone() for name, tensor in named.items()}
    masks = {name: tensor for name, tensor in named.items() if name.endswith("mask")}
    tokens = (named["query"], named["key_value"]) if kind == "cross" else (named["query"],)
    if kind == "cache":
        with torch.no_grad():
            step(mine, *tokens, causal=True, **masks)
    else:
        run(mine, *tokens, causal=True, **masks)
    assert_unchanged(before, named)


@check(
    "layout",
    points=1,
    title="Tokens and masks need not be contiguous in memory",
    hint="view() wants contiguous memory; reshape() does not.",
)
def test_inputs_that_are_not_contiguous(student, draw):
    mine = module(student, random_weights(draw))
    query = draw.normal(T, B, C).transpose(0, 1)
    key_value = draw.normal(B, C, S).transpose(1, 2)
    shared = draw.normal(1, S, C).expand(B, S, C)
    mask = draw.mask(B, T, S).transpose(1, 2).contiguous().transpose(1, 2)
    masks = {"attention_mask": mask, "query_padding_mask": draw.mask(1, T).expand(B, T)}
    words = "Tensors that are not contiguous give another output."
    dense = {name: tensor.contiguous() for name, tensor in masks.items()}
    wanted = run(mine, query.contiguous(), key_value.contiguous(), **dense)
    assert_close(run(mine, query, key_value, **masks), wanted, "output", message=words)
    wanted = run(mine, query.contiguous(), shared.contiguous())
    assert_close(run(mine, query, shared), wanted, "output", message=words)
    wanted = run(mine, query.contiguous(), causal=True)
    assert_close(run(mine, query, causal=True), wanted, "output", message=words)
    with torch.no_grad():
        output, cache = step(mine, query[:, :3].contiguous(), causal=True)
        same, own = step(mine, query[:, :3], causal=True)
        assert_close(same, output, "output", message=words)
        output, _ = step(mine, query[:, 3:].contiguous(), cache=cache, causal=True)
        same, _ = step(mine, query[:, 3:], cache=own, causal=True)
        assert_close(same, output, "output", message=words)


@check(
    "policy",
    points=1,
    title="Written without PyTorch's ready-made attention",
    hint="The point here is to write the steps yourself.",
)
def test_written_by_hand(student, draw, forbidden_uses):
    x = draw.normal(B, T, C)
    assert_started(lambda: student.CachedMultiHeadAttention(embed_dim=C, num_heads=H)(x))
    assert_not_forbidden(forbidden_uses)
