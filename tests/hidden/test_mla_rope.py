"""Hidden suite of `mla_rope`.

All sizes are distinct (`support_mla_rope`). There are never fewer than two tokens to attend to
where scores count: alone, a token gets the whole weight whatever its score is.

The weights of attention are not returned. They are read from outside: tokens that carry the
identity through W_DKV, W_UV and W_o make the output show them.
"""

import math

import pytest
import support_rotary as rotary
import torch
from support_mla_rope import (
    KV,
    OTHER,
    USUAL,
    B,
    C,
    D,
    H,
    R,
    S,
    T,
    assert_output,
    attend,
    attend_and_cache,
    drawn,
    in_chunks,
    largest,
    latents,
    loaded,
    shapes,
)
from support_mla_rope_probes import *  # noqa: F403

from grader.suite import (
    BFLOAT16,
    CheckFailure,
    StudentError,
    assert_close,
    assert_dtype,
    assert_finite,
    assert_raises,
    assert_rows_sum_to_one,
    assert_same_gradients,
    assert_unchanged,
    check,
    measured,
    normalised_axis,
)

AXES = ("batch", "heads", "queries", "keys")


# -- weights, read from outside --------------------------------------------------------------------


def showing(draw, batch=B, **changes):
    """Tokens (batch, T, C) and matrices for which the output shows every head's weights.

    The first T features of token j are the identity's row j. They go through W_DKV to the first T
    latents, through W_UV to the first T columns of every head, and through W_o to columns of their
    own, head by head. What is left of x and of W_DKV is random, and so are the other matrices.
    """
    x = draw.normal(batch, T, C)
    x[..., :T] = torch.eye(T)
    matrices = drawn(draw)
    matrices["W_DKV"][:T] = torch.eye(T, C)
    matrices["W_UV"] = torch.eye(D, KV).repeat(H, 1)
    matrices["W_UV"][:, T:] = 0
    matrices["W_o"] = torch.zeros(C, H * D)
    for head in range(H):
        matrices["W_o"][head * T : (head + 1) * T, head * D : head * D + T] = torch.eye(T)
    return x, matrices | changes


def shown(module, x, mask=None):
    """The weights (B, H, T, S) that a module with the matrices of ``showing`` has for x."""
    output = attend(module, x, mask)
    assert_output(output, x)
    return output[..., : H * T].unflatten(-1, (H, T)).transpose(1, 2)


def ragged_mask(draw, *leading):
    """A mask (..., T, T) that also allows later keys, and lets every query see itself."""
    mask = draw.mask(*leading, T, T) | torch.eye(T, dtype=torch.bool)
    mask[..., 3, 1], mask[..., 4, 0], mask[..., 1, 3] = False, False, True
    return mask


CAUSAL = torch.ones(T, T, dtype=torch.bool).tril()


# -- form ------------------------------------------------------------------------------------------


@check(
    "shape",
    points=2,
    title="The output has the shape of x, with use_cache and without",
    hint="Which matrix brings the heads' H x D columns back to C? What is returned in each case?",
)
@pytest.mark.parametrize("size", [USUAL, OTHER], ids=["usual", "other"])
def test_shapes(student, draw, size):
    module = loaded(student, drawn(draw, size), size)
    x = draw.normal(B, T, size["embed_dim"])
    assert_output(attend(module, x), x)
    output, _ = attend_and_cache(module, x)
    assert_output(output, x)


@check(
    "shape",
    points=1,
    title="Sizes of 1 are sizes like others: one item, one head, one latent, one column",
    hint="Does something drop axes of size 1, such as squeeze()?",
)
@pytest.mark.parametrize(
    ("batch", "numbers"),
    [(1, (4, 2, 3, 2, 5, 6)), (2, (4, 1, 3, 2, 5, 6)), (3, (5, 2, 1, 4, 1, 1))],
    ids=["one-item", "one-head", "narrow"],
)
def test_sizes_of_one(student, draw, batch, numbers):
    size = dict(zip(USUAL, numbers, strict=True))
    matrices = drawn(draw, size)
    module = loaded(student, matrices, size)
    x = draw.normal(batch, 4, size["embed_dim"])
    output = attend(module, x)
    assert_output(output, x)
    _, cache = attend_and_cache(module, x[:, :3])
    latents(cache, batch, 3, size)
    last, cache = attend_and_cache(module, x[:, 3:], cache)
    assert_output(last, x[:, 3:])
    latents(cache, batch, 4, size)


@check(
    "errors",
    points=1,
    title="An odd rope_dim raises ValueError in the constructor",
    hint="Columns turn in pairs. Where do you look at rope_dim?",
)
@pytest.mark.parametrize("width", [1, 5])
def test_odd_rope_dim(student, width):
    student.RotaryMultiHeadLatentAttention(**USUAL)
    with assert_raises(ValueError, when="rope_dim is odd"):
        student.RotaryMultiHeadLatentAttention(**USUAL | {"rope_dim": width})


@check(
    "parameters",
    points=1,
    title="Each of the eight matrices that are loaded is used",
    hint="If you write load_weights yourself: is every matrix copied to where forward reads it?",
)
def test_every_matrix_is_used(student, draw):
    matrices, x = drawn(draw), draw.normal(B, T, C)
    before = attend(loaded(student, matrices), x)
    assert_output(before, x)
    assert_finite(before, "output")
    for name, (outputs, inputs) in shapes(USUAL).items():
        other = matrices | {name: 2 * draw.linear(outputs, inputs)}
        after = attend(loaded(student, other), x)
        if not largest(after - before) > 1e-4:
            raise CheckFailure(f"Another {name} gives the same output.")
    for name in ("W_UV", "W_o"):
        none = attend(loaded(student, matrices | {name: torch.zeros(shapes(USUAL)[name])}), x)
        if largest(none) > 1e-6:
            raise CheckFailure(f"With zeros as {name} the output is not 0.")


@check(
    "parameters",
    points=1,
    title="All eight matrices are parameters, and training reaches each of them",
    hint="Is something detached, or kept in a list that nn.Module does not know?",
)
def test_every_matrix_is_trained(student, draw):
    module = loaded(student, drawn(draw))
    output = module(draw.normal(B, T, C))
    if not isinstance(output, torch.Tensor):
        raise CheckFailure("Without use_cache, the output alone has to be returned, one tensor.")
    if not output.requires_grad:
        raise CheckFailure("No gradient can flow back from the output to the parameters.")
    (output * draw.normal(*output.shape)).sum().backward()
    matrices = {name: p for name, p in module.named_parameters() if p.dim() > 1}
    if sum(p.numel() for p in matrices.values()) < sum(map(math.prod, shapes(USUAL).values())):
        raise CheckFailure("Some of the eight matrices are not parameters of your module.")
    for parameter in matrices.values():
        if parameter.grad is None or largest(parameter.grad) == 0:
            raise CheckFailure("A matrix of your module gets no gradient.")


# -- weights ---------------------------------------------------------------------------------------


@check(
    "row-sum",
    points=2,
    title="Each token shares out exactly 1 among the tokens it may see",
    hint="Over which axis is softmax taken, and is anything changed after it?",
)
def test_rows_sum_to_one(student, draw):
    x, matrices = showing(draw)
    assert_rows_sum_to_one(shown(loaded(student, matrices), x), AXES)


@check(
    "wrong-axis",
    points=1,
    title="The weights are normalised over the keys and over no other axis",
    hint="A query shares out 1 among the keys. Which axis are the keys on?",
)
def test_normalised_over_the_keys(student, draw):
    x, matrices = showing(draw)
    weights = shown(loaded(student, matrices), x)
    # The last token sees all keys, so it is finite even where other axes are normalised.
    last = weights[:, :, -1]
    for axis, name in ((0, "batch"), (1, "heads")):
        if torch.allclose(last.sum(axis), torch.ones(()), atol=1e-4):
            raise CheckFailure(f"Your weights sum to 1 over the {name}, not over the keys.")
    assert_finite(weights, "output")
    other = normalised_axis(weights, AXES)
    if other is not None:
        raise CheckFailure(f"Your weights sum to 1 over {other}, not over the keys.")


@check(
    "scale",
    points=2,
    title="Scores are divided by the square root of head_dim + rope_dim",
    hint="How wide is a whole query, content and rotary part together?",
)
def test_scale(student, reference, draw):
    # Without rotary keys the score is the content's alone, but its scale is that of both.
    x, matrices = showing(draw, W_KR=torch.zeros(R, C))
    mine = shown(loaded(student, matrices), x)[:, :, -1]
    assert_finite(mine, "output")
    right = shown(loaded(reference, matrices), x)[:, :, -1]
    if bool((mine <= 0).any()):
        raise CheckFailure("A token that may be seen gets no weight.")
    got, wanted = ((w.log() - w.log()[..., :1]).double() for w in (mine, right))
    factor = float((got * wanted).sum() / (wanted * wanted).sum())
    detail = measured("the scores are {:.4f} times what they should be", factor)
    if largest(got - factor * wanted) > 1e-2 * largest(wanted):
        raise CheckFailure("The content parts do not give the expected scores.", detail)
    if abs(factor - 1) <= 1e-3:
        return
    root = math.sqrt(D + R)
    known = {
        root: "They are what they would be without any scale.",
        root / math.sqrt(D): "They are divided by the root of head_dim alone.",
        root / math.sqrt(R): "They are divided by the root of rope_dim alone.",
        root / math.sqrt(C / H): "They are divided by the root of embed_dim / num_heads.",
        root / math.sqrt(C): "They are divided by the root of embed_dim.",
        root / math.sqrt(KV + R): "They are divided by the root of the width of the cache.",
        1 / root: "They are divided by the width itself, or twice by its root.",
        root * root: "They are multiplied by the root.",
    }
    words = next((text for value, text in known.items() if abs(factor - value) < 1e-2), "")
    raise CheckFailure(f"The scores have the wrong scale. {words}".strip(), detail)


@check(
    "heads",
    points=2,
    title="Each head compares its own content query with its own content key",
    hint="Which columns of W_UQ and W_UK are head 0's? Do they stay together?",
    shows="two heads and four tokens",
)
def test_content_of_each_head(student, reference, draw):
    x, matrices = showing(draw, W_KR=torch.zeros(R, C))
    weights = shown(loaded(student, matrices), x)
    right = shown(loaded(reference, matrices), x)
    assert_finite(weights, "output")
    if largest(weights - weights[:, :1]) < 1e-5:
        raise CheckFailure("All your heads have the same weights.")
    words = "The weights of the heads are not those of their content queries and keys."
    assert_close(weights, right, "weights", message=words)


@check(
    "heads",
    points=1,
    title="The heads' outputs are joined in order, D columns each, for W_o",
    hint="After attention the axes are (B, H, T, D). What has to be done before they are joined?",
)
def test_heads_are_joined_in_order(student, draw):
    matrices = drawn(draw)
    # All tokens of an item are equal, so that any mixture of their values is that value.
    x = draw.normal(B, 1, C).expand(B, T, C).clone()
    output = attend(loaded(student, matrices), x)
    assert_output(output, x)
    wanted = x @ matrices["W_DKV"].T @ matrices["W_UV"].T @ matrices["W_o"].T
    assert_close(
        output,
        wanted,
        "output",
        message="Where all tokens are equal, the output has to be W_o W_UV W_DKV of that token.",
    )


# -- causality and mask ----------------------------------------------------------------------------


@check(
    "causal-leak",
    points=2,
    title="No token sees a later one, without any mask being passed",
    hint="Change the last token. Which outputs may move?",
)
def test_no_leak(student, draw):
    module = loaded(student, drawn(draw))
    x = draw.normal(B, T, C)
    before = attend(module, x)
    assert_output(before, x)
    assert_finite(before, "output")
    for place in range(T):
        later = x.clone()
        later[:, place:] = draw.normal(B, T - place, C)
        after = attend(module, later)
        words = "A token's output moves when only later tokens change: the future leaks."
        assert_close(after[:, :place], before[:, :place], "output", message=words)
        moved = (after - before)[:, place:].abs().amax(-1) > 1e-5
        if not bool(moved[:, 0].all()):
            raise CheckFailure("A token does not see itself.")
        if not bool(moved.all()):
            raise CheckFailure("A token does not see all tokens before it.")


@check(
    "causal-leak",
    points=2,
    title="With a cache too: tokens of one piece see the cache and no later token",
    hint="Row i of the piece has position i + the length of the cache. Which keys may it see?",
    shows="two heads, three tokens and then a fourth",
)
@pytest.mark.parametrize("past", [2, 4])
def test_no_leak_with_a_cache(student, draw, past):
    module = loaded(student, drawn(draw))
    x = draw.normal(B, past + 3, C)
    _, cache = attend_and_cache(module, x[:, :past])
    before, _ = attend_and_cache(module, x[:, past:], cache)
    assert_output(before, x[:, past:])
    assert_finite(before, "output")
    for place in (1, 2):
        later = x.clone()
        later[:, past + place :] = draw.normal(B, 3 - place, C)
        after, _ = attend_and_cache(module, later[:, past:], cache)
        words = "With a cache, a token's output moves when only later tokens of its piece change."
        assert_close(after[:, :place], before[:, :place], "output", message=words)
    for place in range(past):
        earlier = x[:, :past].clone()
        earlier[:, place] = draw.normal(B, C)
        _, other = attend_and_cache(module, earlier)
        after, _ = attend_and_cache(module, x[:, past:], other)
        if not bool(((after - before).abs().amax(-1) > 1e-5).all()):
            raise CheckFailure("With a cache, some tokens do not see all the cached ones.")


def assert_allowed(weights, allowed):
    """Exactly the ``allowed`` keys have weight, each of them some."""
    assert_finite(weights, "output")
    allowed = allowed.expand_as(weights)
    if bool((weights[~allowed].abs() <= 1e-6).all()) and bool((weights[allowed] > 0).all()):
        return
    if bool((weights[..., ~CAUSAL].abs() > 1e-6).any()):
        raise CheckFailure("With a mask, later tokens are seen: it may restrict, never add.")
    if bool((weights[~allowed].abs() > 1e-6).any()):
        raise CheckFailure("Tokens that the mask blocks still get weight.")
    raise CheckFailure("Tokens that the mask allows get no weight.")


@check(
    "mask",
    points=2,
    title="A mask (T, S) blocks further keys, and never allows a later one",
    hint="A key has to be allowed by the mask and by causality. Which operator is that?",
)
@pytest.mark.parametrize("kind", ["ragged", "everything", "all-but-one"])
def test_mask_for_all(student, draw, kind):
    x, matrices = showing(draw)
    module = loaded(student, matrices)
    mask = {
        "ragged": ragged_mask(draw),
        "everything": torch.ones(T, T, dtype=torch.bool),
        "all-but-one": torch.ones(T, T, dtype=torch.bool).index_fill(1, torch.tensor([1]), False)
        | torch.eye(T, dtype=torch.bool),
    }[kind]
    weights = shown(module, x, mask)
    assert_allowed(weights, mask & CAUSAL)
    assert_rows_sum_to_one(weights, AXES)
    if kind == "everything":
        words = "A mask that allows everything changes the output."
        assert_close(weights, shown(module, x), "output", message=words)


@check(
    "mask",
    points=2,
    title="A mask (B, T, S) has its own rows for each item, the same for all heads",
    hint="Scores are (B, H, T, S). Which axis does the mask's first one meet?",
)
@pytest.mark.parametrize("batch", [B, H], ids=["B<H", "B=H"])
def test_mask_of_each_item(student, draw, batch):
    x, matrices = showing(draw, batch)
    mask = ragged_mask(draw, batch)
    for item in range(batch):
        mask[item, 4, 1:4] = torch.arange(3) != item
    weights = shown(loaded(student, matrices), x, mask)
    assert_finite(weights, "output")
    if batch == H:
        seen = weights > 1e-6
        if bool((seen == (mask & CAUSAL)[None]).all()):
            raise CheckFailure("Your mask goes with the heads; its first axis is the batch.")
    assert_allowed(weights, (mask & CAUSAL)[:, None])
    assert_rows_sum_to_one(weights, AXES)


@check(
    "mask",
    points=1,
    title="With a cache, the columns of a mask count the cached tokens first",
    hint="How many columns has a mask for 3 new tokens and 5 cached ones, and which are which?",
)
@pytest.mark.parametrize("batched", [False, True], ids=["(T,S)", "(B,T,S)"])
def test_mask_with_a_cache(student, draw, batched):
    module = loaded(student, drawn(draw))
    x = draw.normal(B, S, C)
    leading = (B,) if batched else ()
    mask = draw.mask(*leading, S, S, allowed=0.5) | torch.eye(S, dtype=torch.bool)
    mask[..., 5:, 1] = False
    whole = attend(module, x, mask)
    assert_output(whole, x)
    assert_finite(whole, "output")
    words = "With a mask, tokens fed in pieces get another output than all at once."
    for chunks in ([5, 3], [3, 1]):
        assert_close(in_chunks(module, x, chunks, mask), whole, "output", message=words)
    other = x.clone()
    other[:, 1] = draw.normal(B, C)
    moved = in_chunks(module, other, [5, 3], mask)[:, 5:]
    words = "A cached token that the mask blocks still changes the output."
    assert_close(moved, whole[:, 5:], "output", message=words)


@check(
    "mask",
    points=1,
    title="Blocked keys get no weight, however large the scores are",
    hint="Is your blocked score below every score that there can be?",
)
@pytest.mark.parametrize("sign", [1, -1], ids=["plus", "minus"])
def test_large_scores_and_mask(student, draw, sign):
    x, matrices = showing(draw)
    # With one of the two signs, the only score that the first token may see is far below 0.
    matrices["W_UQ"] = sign * 1e5 * matrices["W_UQ"]
    weights = shown(loaded(student, matrices), x)
    assert_finite(weights, "output")
    if largest(weights[..., ~CAUSAL]) > 1e-6:
        raise CheckFailure("Where allowed scores are very negative, later tokens get weight.")


# -- positions -------------------------------------------------------------------------------------


def rotary_weights(x, matrices, query_positions, key_positions, turn=rotary.turn):
    """Weights (B, H, T, T) of the rotary parts alone, in float64."""
    query = x @ matrices["W_DQ"].T @ matrices["W_QR"].T
    query = query.unflatten(-1, (H, R)).transpose(1, 2)
    key = (x @ matrices["W_KR"].T)[:, None]
    query, key = turn(query, query_positions), turn(key, key_positions)
    scores = query @ key.transpose(-2, -1) / math.sqrt(D + R)
    return scores.masked_fill(~CAUSAL, -math.inf).softmax(-1)


@check(
    "positions",
    points=2,
    title="The rotary parts: each head's own query, one key for all heads, both turned",
    hint="Set the content part aside. Which of W_QR's and W_KR's results are turned, and when?",
    shows="two heads and four tokens",
)
def test_rotary_part(student, draw):
    x, matrices = showing(draw, W_UK=torch.zeros(H * D, KV))
    weights = shown(loaded(student, matrices), x)
    assert_finite(weights, "output")
    place, rest = torch.arange(T), torch.zeros(T)

    def half_split(tensor, positions):
        order = torch.cat((torch.arange(0, R, 2), torch.arange(1, R, 2)))
        return rotary.turn(tensor[..., order.argsort()], positions)

    mistakes = {
        "Neither the rotary queries nor the rotary keys are turned.": (rest, rest),
        "The rotary queries are not turned.": (rest, place),
        "The rotary keys are not turned.": (place, rest),
        "The rotary parts are turned the other way: the angle has the wrong sign.": (
            -place,
            -place,
        ),
    }
    wrong = {
        words: rotary_weights(x, matrices, *positions) for words, positions in mistakes.items()
    }
    wrong["The rotary parts are turned in the half-split layout, not as adjacent columns."] = (
        rotary_weights(x, matrices, place, place, half_split)
    )
    wrong["Your weights do not depend on the rotary parts."] = CAUSAL / CAUSAL.sum(-1, keepdim=True)
    right = rotary_weights(x, matrices, place, place)
    try:
        assert_close(weights, right, "weights")
    except CheckFailure as failure:
        known = [w for w, other in wrong.items() if largest(weights - other) < 1e-5]
        words = known[0] if len(known) == 1 else "The rotary parts do not give the right weights."
        raise CheckFailure(words, failure.detail) from None


@check(
    "positions",
    points=2,
    title="The cached rotary keys are W_KR of the tokens, turned by their positions from 0 on",
    hint="Are they turned before they are cached? Does the first token have position 0?",
    shows="the worked example",
)
@pytest.mark.parametrize("size", [USUAL, OTHER], ids=["usual", "other"])
def test_cached_rotary_keys(student, draw, size):
    matrices = drawn(draw, size)
    module = loaded(student, matrices, size)
    # In a long piece a base that is off by a little shows too.
    for batch, length in ((B, S), (1, 64)):
        x = draw.normal(batch, length, size["embed_dim"])
        _, cache = attend_and_cache(module, x)
        _, k_rope = latents(cache, batch, length, size)
        rotary.assert_turned(k_rope, x @ matrices["W_KR"].T, torch.arange(length), "k_rope")


@check(
    "positions",
    points=1,
    title="Positions continue from the cache: each token is turned once, by its own",
    hint="What is the position of the first new token? Are cached keys turned again?",
    shows="two heads, three tokens and then a fourth",
)
@pytest.mark.parametrize("chunks", [[1, 1, 1], [3, 2], [2, 4, 1]], ids=str)
def test_positions_continue(student, draw, chunks):
    matrices = drawn(draw)
    module = loaded(student, matrices)
    x = draw.normal(B, sum(chunks), C)
    cache, done = None, 0
    for count in chunks:
        _, cache = attend_and_cache(module, x[:, done : done + count], cache)
        done += count
    _, k_rope = latents(cache, B, done)
    again = torch.cat([torch.arange(count) for count in chunks])
    if largest(k_rope - rotary.turn(x @ matrices["W_KR"].T, again)) < 1e-5:
        raise CheckFailure("Positions start again at 0 with each piece.")
    rotary.assert_turned(k_rope, x @ matrices["W_KR"].T, torch.arange(done), "k_rope")


# -- cache -----------------------------------------------------------------------------------------


@check(
    "cache",
    points=1,
    title="The cache is (c_kv, k_rope) and nothing else: kv_latent_dim + rope_dim numbers a token",
    hint="What can be computed again from c_kv, and need not be kept?",
)
def test_what_is_cached(student, draw):
    module = loaded(student, drawn(draw))
    x = draw.normal(B, S, C)
    _, cache = attend_and_cache(module, x[:, :T])
    latents(cache)
    for place in range(T, S):
        _, cache = attend_and_cache(module, x[:, place : place + 1], cache)
        latents(cache, B, place + 1)


@check(
    "cache",
    points=1,
    title="c_kv is W_DKV of the tokens, old ones first",
    hint="Equation 5 has nothing after the product. In which order are old and new joined?",
    shows="two heads, three tokens and then a fourth",
)
def test_cached_latents(student, draw):
    matrices = drawn(draw)
    module = loaded(student, matrices)
    x = draw.normal(B, S, C)
    right = x @ matrices["W_DKV"].T
    _, cache = attend_and_cache(module, x[:, :T])
    c_kv, _ = latents(cache)
    assert_close(c_kv, right[:, :T], "c_kv")
    _, cache = attend_and_cache(module, x[:, T:], cache)
    c_kv, _ = latents(cache, B, S)
    if largest(c_kv - torch.cat((right[:, T:], right[:, :T]), dim=1)) < 1e-5:
        raise CheckFailure("The new latents are put before the old ones.")
    assert_close(c_kv, right, "c_kv")


@check(
    "cache",
    points=3,
    title="Fed in pieces of any size, tokens get the outputs that they get all at once",
    hint="Compare the second piece with the same rows of the whole. Position, mask, or order?",
    shows="two heads, three tokens and then a fourth",
)
@pytest.mark.parametrize("chunks", [[1], [2], [3], [4, 1, 3], [5, 1]], ids=str)
def test_pieces_equal_the_whole(student, draw, chunks):
    module = loaded(student, drawn(draw))
    x = draw.normal(B, S, C)
    whole = attend(module, x)
    assert_output(whole, x)
    assert_finite(whole, "output")
    output = in_chunks(module, x, chunks)
    words = "Tokens fed in pieces, with the cache, get other outputs than all at once."
    assert_close(output, whole, "output", message=words)


@check(
    "cache",
    points=2,
    title="What comes next depends on the cache that is passed and on nothing else",
    hint="Does your module remember anything between calls? Is everything in the cache used?",
)
def test_the_cache_is_all(student, reference, draw):
    matrices = drawn(draw)
    module, right = loaded(student, matrices), loaded(reference, matrices)
    x = draw.normal(B, S, C)
    _, cache = attend_and_cache(module, x[:, :T])
    c_kv, k_rope = latents(cache)
    before, _ = attend_and_cache(module, x[:, T:], cache)
    assert_output(before, x[:, T:])
    attend_and_cache(module, draw.normal(B, 3, C))
    elsewhere, _ = attend_and_cache(loaded(student, matrices), x[:, T:], cache)
    words = "Another module with the same weights continues your cache in another way."
    assert_close(elsewhere, before, "output", message=words)
    again, _ = attend_and_cache(right, x[:, T:], (c_kv, k_rope))
    words = "Your cache, continued by the equations, gives another output than yours."
    assert_close(before, again, "output", message=words)
    if isinstance(cache, tuple | list):
        for place in (0, 1):
            other = [tensor.clone() for tensor in (c_kv, k_rope)]
            other[place] = draw.normal(*other[place].shape)
            output, _ = attend_and_cache(module, x[:, T:], type(cache)(other))
            wanted, _ = attend_and_cache(right, x[:, T:], tuple(other))
            words = "Where the cache holds other numbers, the output does not follow them."
            assert_close(output, wanted, "output", message=words)


@check(
    "cache",
    points=2,
    title="An old cache is still good after it was used: it can be continued in two ways",
    hint="Is the new cache a new pair of tensors, or the old one changed?",
)
def test_old_cache_stays(student, draw):
    module = loaded(student, drawn(draw))
    x, other = draw.normal(B, S, C), draw.normal(B, 2, C)
    _, cache = attend_and_cache(module, x[:, :T])
    kept = [tensor.clone() for tensor in latents(cache)]
    options = {"cache": cache, "use_cache": True}
    with torch.no_grad():
        module(x[:, T:], **options)
    named = dict(zip(("cache (c_kv)", "cache (k_rope)"), latents(cache), strict=True))
    assert_unchanged(dict(zip(named, kept, strict=True)), named)
    before, _ = attend_and_cache(module, x[:, T:], cache)
    attend_and_cache(module, other, cache)
    after, longer = attend_and_cache(module, x[:, T:], cache)
    words = "A cache that was used once continues in another way the second time."
    assert_close(after, before, "output", message=words)
    latents(longer, B, S)


@check(
    "cache",
    points=2,
    title="Two prompts do not see each other",
    hint="Does a call without a cache begin with nothing?",
)
def test_two_prompts(student, draw):
    module = loaded(student, drawn(draw))
    first, second = draw.normal(B, S, C), draw.normal(B, S, C)
    alone = [in_chunks(module, prompt, [T, 1]) for prompt in (first, second)]
    outputs = [[], []]
    caches = [None, None]
    for start, end in ((0, T), (T, T + 1), (T + 1, S)):
        for one, prompt in enumerate((first, second)):
            output, caches[one] = attend_and_cache(module, prompt[:, start:end], caches[one])
            outputs[one].append(output)
    words = "A prompt that is fed in turns with another one gets other outputs than alone."
    for mine, right in zip(outputs, alone, strict=True):
        assert_close(torch.cat(mine, dim=1), right, "output", message=words)
    words = "A prompt gets another output after another prompt was there."
    assert_close(attend(module, second)[:, :T], alone[1][:, :T], "output", message=words)


# -- values ----------------------------------------------------------------------------------------


@check(
    "values",
    points=3,
    title="The outputs are those of equations 1 to 11",
    hint="Print what each equation gives for the handout's example. Which is the first to differ?",
    shows="two heads and four tokens",
)
@pytest.mark.parametrize(
    ("size", "batch", "length"),
    [(USUAL, B, T), (OTHER, 3, 4), (USUAL, 1, 20)],
    ids=["usual", "other", "long"],
)
def test_values(student, reference, draw, size, batch, length):
    matrices = drawn(draw, size)
    x = draw.normal(batch, length, size["embed_dim"])
    output = attend(loaded(student, matrices, size), x)
    assert_output(output, x)
    assert_close(output, attend(loaded(reference, matrices, size), x), "output")


@check(
    "values",
    points=1,
    title="The outputs are right with a cache and a mask together",
    hint="Everything at once: take the mask away, then the cache. When does it become right?",
    shows="two heads, three tokens and then a fourth",
)
def test_values_with_everything(student, reference, draw):
    matrices = drawn(draw)
    module, right = loaded(student, matrices), loaded(reference, matrices)
    x = draw.normal(B, S, C)
    mask = draw.mask(B, S, S, allowed=0.7) | torch.eye(S, dtype=torch.bool)
    output = in_chunks(module, x, [4, 3, 1], mask)
    assert_close(output, attend(right, x, mask), "output")


@check(
    "gradient",
    points=2,
    title="Gradients reach x, and are right",
    shows="which inputs the gradient reaches",
    hint="Is anything detached, converted to numbers, or computed without grad?",
)
@pytest.mark.parametrize("masked", [False, True], ids=["no-mask", "mask"])
def test_gradients(student, reference, draw, masked):
    matrices = drawn(draw)
    options = {"mask": ragged_mask(draw)} if masked else {}

    def call(module):
        return lambda x: module(x, **options)

    mine, right = loaded(student, matrices), loaded(reference, matrices)
    named = {"x": draw.normal(B, T, C)}
    assert_same_gradients(call(mine), call(right), named, draw, which=None)


@check(
    "numerics",
    points=1,
    title="Large scores give finite and right results",
    hint="exp(100) is more than float32 holds. What may be subtracted from a row before exp?",
)
def test_large_scores(student, reference, draw):
    x, matrices = showing(draw)
    matrices["W_UQ"] = 300 * matrices["W_UQ"]
    weights = shown(loaded(student, matrices), x)
    assert_finite(weights, "output")
    assert_rows_sum_to_one(weights, AXES)
    exact = {name: matrix.double() for name, matrix in matrices.items()}
    wanted = shown(loaded(reference, exact, dtype=torch.float64), x.double())
    # At such scores the rounding of float32 itself moves a weight by up to about 1e-2.
    assert_close(weights, wanted, "weights", tol=(0.0, 5e-2))


# -- what may not matter ---------------------------------------------------------------------------


@check(
    "batch",
    points=1,
    title="The items of a batch do not see each other",
    hint="Change one item. May another item's output move?",
)
def test_items_are_independent(student, draw):
    module = loaded(student, drawn(draw))
    x = draw.normal(3, S, C)
    changed = x.clone()
    changed[1] = draw.normal(S, C)
    words = "Changing one item of the batch moves the output of another."
    for run in (attend, lambda module, x: in_chunks(module, x, [T, 1])):
        before, after = run(module, x), run(module, changed)
        assert_output(before, x)
        assert_close(after[[0, 2]], before[[0, 2]], "output", message=words)
        assert_close(run(module, x[2:]), before[2:], "output", message=words)


@check(
    "dtype",
    points=1,
    title="A module of float32 or float64 takes, returns and caches that dtype",
    hint="Does a line name a dtype, or make a tensor of its own with the default one?",
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=str)
def test_float64(student, reference, draw, dtype):
    matrices = drawn(draw, dtype=dtype)
    module = loaded(student, matrices, dtype=dtype)
    x = draw.normal(B, T, C, dtype=dtype)
    output, cache = attend_and_cache(module, x)
    assert_dtype(output, dtype, "output")
    for tensor, what in zip(latents(cache), ("c_kv", "k_rope"), strict=True):
        assert_dtype(tensor, dtype, what)
    right = loaded(reference, matrices, dtype=dtype)
    assert_close(output, attend(right, x), "output")
    assert_dtype(attend(module, x, ragged_mask(draw)), dtype, "output")


@check(
    "dtype",
    points=1,
    title="A bfloat16 module takes and returns bfloat16, and caches it",
    hint="Cosines of one dtype times keys of another give the wider of the two. What comes after?",
)
def test_bfloat16(student, reference, draw):
    matrices = drawn(draw, gain=1.0, dtype=torch.bfloat16)
    module = loaded(student, matrices, dtype=torch.bfloat16)
    x = draw.normal(B, T, C, dtype=torch.bfloat16)
    output, cache = attend_and_cache(module, x)
    assert_dtype(output, torch.bfloat16, "output")
    for tensor, what in zip(latents(cache), ("c_kv", "k_rope"), strict=True):
        assert_dtype(tensor, torch.bfloat16, what)
    exact = {name: matrix.double() for name, matrix in matrices.items()}
    right = loaded(reference, exact, dtype=torch.float64)
    assert_close(output, attend(right, x.double()), "output", tol=BFLOAT16)
    last, _ = attend_and_cache(module, x[:, :1], cache)
    assert_dtype(last, torch.bfloat16, "output")


@check(
    "device",
    points=1,
    title="Runs on whatever device its parameters and inputs are on",
    hint="Does a line name a device, or make a tensor without asking x where it is?",
)
def test_no_device_of_its_own(student):
    module = student.RotaryMultiHeadLatentAttention(**USUAL).to("meta")
    x = torch.empty(B, T, C, device="meta")
    try:
        with torch.no_grad():
            output = module(x)
    except StudentError as error:
        # Whoever looks whether a row of the mask is empty reads numbers, and meta has none.
        if "item()" in error.raised.message:
            return
        raise
    if not isinstance(output, torch.Tensor):
        raise CheckFailure("Without use_cache, the output alone has to be returned, one tensor.")
    if output.device.type != "meta":
        raise CheckFailure("Your result is on another device than the input.")
    assert_output(output, x)


@check(
    "layout",
    points=1,
    title="Neither x nor the cache needs to be contiguous in memory",
    hint="view() wants contiguous memory; reshape() does not.",
)
def test_inputs_that_are_not_contiguous(student, draw):
    module = loaded(student, drawn(draw))
    x = draw.normal(T, B, C).transpose(0, 1)
    mask = ragged_mask(draw).T.contiguous().T
    output = attend(module, x, mask)
    wanted = attend(module, x.contiguous(), mask.contiguous())
    words = "Inputs that lie in memory in another way give another output."
    assert_close(output, wanted, "output", message=words)
    _, cache = attend_and_cache(module, x)
    wanted, _ = attend_and_cache(module, x, cache)
    if isinstance(cache, tuple | list):
        other = [tensor.transpose(0, 1).contiguous().transpose(0, 1) for tensor in latents(cache)]
        output, _ = attend_and_cache(module, x, type(cache)(other))
        assert_close(output, wanted, "output", message=words)


@check(
    "purity",
    points=1,
    title="x and mask stay as they were",
    hint="Does a line work in place (+=, masked_fill_) on something that came from outside?",
)
def test_inputs_untouched(student, draw):
    module = loaded(student, drawn(draw))
    for mask in (ragged_mask(draw), ragged_mask(draw, B)):
        named = {"x": draw.normal(B, T, C), "mask": mask}
        before = {name: tensor.clone() for name, tensor in named.items()}
        with torch.no_grad():
            module(named["x"], mask=named["mask"])
            module(named["x"], use_cache=True)
        assert_unchanged(before, named)


@check(
    "purity",
    points=1,
    title="Equal inputs give equal outputs, with the cache asked for or not, in training or not",
    hint="There is no dropout here. Is anything random, or kept from call to call?",
)
def test_same_inputs_same_outputs(student, draw):
    module = loaded(student, drawn(draw))
    x, longer = draw.normal(B, T, C), draw.normal(B, S, C)
    first = attend(module, x)
    assert_output(first, x)
    attend(module, longer)
    words = "Two calls with equal inputs gave different outputs."
    assert_close(attend(module, x), first, "output", message=words)
    output, _ = attend_and_cache(module, x)
    words = "With use_cache the output is another one than without."
    assert_close(output, first, "output", message=words)
    module.eval()
    words = "In evaluation the output is another one than in training."
    assert_close(attend(module, x), first, "output", message=words)
