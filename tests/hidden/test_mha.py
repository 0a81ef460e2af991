"""Hidden suite of `mha`.

Every size is distinct: B 2, H 3, T 5, S 8, D 7, C 21; masks are tried with B = H too. Values are
compared with loaded weights only, and a loader that is wrong is found first (support_mha).
"""

import pytest
import torch
from support_dropout import (
    assert_dropped_before_mixing,
    assert_dropped_one_by_one,
    assert_share_dropped,
    assert_survivors_scaled,
    twice_the_identity,
)
from support_mha import NAMES, RANKS, Setting

# The grader finds probes among the names of this module.
from support_mha_probes import *  # noqa: F403
from support_weights import AXES, assert_mask_obeyed, assert_normalised_over_keys, assert_scaled

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
    gradients,
    tolerance,
)

MAIN = Setting(batch=2, heads=3, queries=5, keys=8, head_width=7)
B, H, T, S, D = MAIN
C = MAIN.width
MORE_QUERIES = MAIN._replace(queries=S, keys=T)
PLAIN_RANKS = ["(T, S)", "(B, H, T, S)"]
"""Where another thing than the rank is looked at, so that a mistake in lifting costs no more."""

BATCHES = pytest.mark.parametrize(
    "setting",
    [MAIN, MAIN._replace(batch=H)],
    ids=["another-B-than-H", "as-many-items-as-heads"],
)


def assert_equals_reference(student, reference, draw, setting=MAIN, *, inputs=None, rank=None):
    """With the same random weights, output and weights are the reference's."""
    options = {} if rank is None else {"mask": setting.mask(draw, rank)}
    inputs = setting.inputs(draw) if inputs is None else inputs
    weights = setting.weights(draw)
    # First, lest a module that writes into its inputs spoil the expected result.
    wanted_output, wanted_shares = setting.build(reference, weights)(*inputs, **options)
    output, shares = setting.build(student, weights)(*inputs, **options)
    assert_close(shares, wanted_shares, "weights")
    assert_close(output, wanted_output, "output")


# -- parameters ------------------------------------------------------------------------------------


@check(
    "parameters",
    points=1,
    title="What is loaded is used: each of W_q, W_k, W_v, W_o has its effect",
    hint="Follow one input through your forward. Which projection does it meet, and which not?",
    shows="two items, two heads, three queries and four keys",
)
def test_each_projection_has_its_effect(student, draw):
    inputs, weights = MAIN.inputs(draw), MAIN.weights(draw)
    output, shares = MAIN.build(student, weights)(*inputs)
    uniform = torch.full_like(shares, 1 / S)
    for name in NAMES:
        without = weights | {name: torch.zeros(C, C)}
        changed, changed_shares = MAIN.build(student, without)(*inputs)
        if name in ("W_q", "W_k"):
            words = f"With {name} at zero all scores are equal, so every weight has to be 1 / S."
            assert_close(changed_shares, uniform, "weights", message=words)
        else:
            words = f"With {name} at zero the output has to be zero."
            assert_close(changed, torch.zeros_like(output), "output", message=words)
        if torch.equal(changed, output):
            raise CheckFailure(f"Your output does not depend on {name}.")


@check(
    "parameters",
    points=2,
    title="Every weight is registered, is the module's own, and is made once",
    hint="Where does a module look for its layers, and when are yours made?",
)
def test_parameters_are_registered(student, draw):
    made = student.MultiHeadAttention(embed_dim=C, num_heads=H)
    every = list(made.named_parameters(remove_duplicate=False))
    if len(every) > len(list(made.named_parameters())):
        raise CheckFailure("Two of your layers share their weights; each needs its own.")
    count = sum(parameter.numel() for _, parameter in every)
    if count < 4 * C * C:
        raise CheckFailure(
            "Your module has fewer parameters than four matrices (C, C) need: a layer is missing, "
            "or is kept where the module does not find it (a list, a dict, a plain tensor).",
            f"{count} numbers; four matrices have {4 * C * C}",
        )
    made.eval()(*MAIN.inputs(draw))
    made.to(torch.float32)  # reads the student's parameters again
    if [name for name, _ in made.named_parameters(remove_duplicate=False)] != [n for n, _ in every]:
        raise CheckFailure("Your module makes parameters when it is called; make them once.")


@check(
    "parameters",
    points=2,
    title="Every parameter is trained: a gradient reaches each, and it is right",
    hint="Which layer does no input pass through, or is cut off behind?",
)
def test_parameters_are_trained(student, reference, draw):
    inputs, weights = MAIN.inputs(draw), MAIN.weights(draw)
    cotangent = draw.normal(B, T, C)
    made, wanted = (MAIN.build(module, weights) for module in (student, reference))
    for module in (wanted, made):
        output, _ = module(*inputs)
        MAIN.assert_shape_of_output(output)
        if not output.requires_grad:
            raise CheckFailure("No gradient can flow back from your output to the parameters.")
        (output * cotangent).sum().backward()
    right = dict(wanted.named_parameters())
    for name, parameter in made.named_parameters():
        if not parameter.requires_grad or parameter.grad is None:
            raise CheckFailure("No gradient reaches one of your parameters.", name)
        # The gradient of a key's bias is 0: adding one number to all scores changes nothing.
        if parameter.numel() >= C * D and bool((parameter.grad == 0).all()):
            raise CheckFailure("The gradient of one of your weights is 0 everywhere.", name)
        if name in right and name.endswith(".weight") and right[name].shape == parameter.shape:
            if not torch.equal(right[name].detach(), parameter.detach()):
                continue
            assert_close(
                parameter.grad,
                right[name].grad,
                f"gradient of {name}",
                message="The gradient of one of your projections is not the expected one.",
                tol=(1e-3, 1e-4),
            )


@check(
    "errors",
    points=1,
    title="A width that the heads cannot share raises ValueError or AssertionError",
    hint="What has to be true of embed_dim and num_heads, and where can you find out first?",
)
@pytest.mark.parametrize("sizes", [(10, 3), (14, 4), (3, 6)], ids=str)
def test_width_that_does_not_divide(student, sizes):
    width, heads = sizes
    with assert_raises(ValueError, AssertionError, when="embed_dim is no multiple of num_heads"):
        student.MultiHeadAttention(embed_dim=width, num_heads=heads)
    student.MultiHeadAttention(embed_dim=heads * 2, num_heads=heads)


# -- shape -----------------------------------------------------------------------------------------


@check(
    "shape",
    points=1,
    title="Output is (B, T, C) and weights are (B, H, T, S), in training too",
    hint="Write the shape of each intermediate result beside its line. Which line changes them?",
)
@pytest.mark.parametrize("train", [False, True], ids=["evaluation", "training"])
@pytest.mark.parametrize("queries_keys", [(T, S), (S, T), (T, T)], ids=str)
def test_shapes(student, draw, queries_keys, train):
    queries, keys = queries_keys
    setting = MAIN._replace(queries=queries, keys=keys)
    output, shares = setting.loaded(student, draw).train(train)(*setting.inputs(draw))
    shape, four = (B, queries, C), (B, H, queries, keys)
    if tuple(output.shape) == four and tuple(shares.shape) == shape:
        raise CheckFailure("Output and weights are swapped: the output comes first.")
    setting.assert_shapes(output, shares)


@check(
    "shape",
    points=1,
    title="Axes of size 1 stay: one item, one head, one query, one key, one feature a head",
    hint="Does something drop axes of size 1, such as squeeze()?",
)
@pytest.mark.parametrize(
    "sizes",
    [(1, 2, 3, 4, 3), (2, 1, 3, 4, 3), (3, 2, 1, 4, 5), (3, 2, 4, 1, 5), (2, 4, 3, 5, 1), (1,) * 5],
    ids=["one-item", "one-head", "one-query", "one-key", "one-feature", "all-one"],
)
def test_axes_of_size_one(student, draw, sizes):
    setting = Setting(*sizes)
    inputs = setting.inputs(draw)
    setting.assert_shapes(*setting.loaded(student, draw)(*inputs))


# -- weights ---------------------------------------------------------------------------------------


@check(
    "row-sum",
    points=1,
    title="With each head, each query shares out exactly 1 among its keys",
    hint="What has to be true of the weights of one query in one head?",
    shows="two items, two heads, three queries and four keys",
)
def test_rows_sum_to_one(student, draw):
    _, shares = MAIN.loaded(student, draw)(*MAIN.inputs(draw))
    assert_rows_sum_to_one(shares, AXES)


@check(
    "wrong-axis",
    points=1,
    title="The weights are normalised over the keys and over no other axis",
    hint="A query shares out 1 among the keys. Which axis are the keys on?",
    shows="two items, two heads, three queries and four keys",
)
def test_normalised_over_the_keys(student, draw):
    _, shares = MAIN.loaded(student, draw)(*MAIN.inputs(draw))
    assert_normalised_over_keys(shares)


@check(
    "scale",
    points=2,
    title="Scores are divided by the square root of the width of one head",
    hint="How many numbers does one head multiply and add for one score?",
)
@pytest.mark.parametrize("sizes", [(3, 7), (5, 3), (2, 11), (1, 6)], ids=str)
def test_ratio_of_two_keys(student, sizes):
    heads, head_width = sizes
    setting = Setting(1, heads, 1, 2, head_width)
    query, key = torch.ones(1, 1, setting.width), torch.zeros(1, 2, setting.width)
    key[:, 0] = 1.0
    _, shares = setting.build(student, setting.identity())(query, key, key)
    setting.assert_shape_of_weights(shares)
    shares = shares.detach()
    assert_finite(shares, "weights")
    ratio = shares[0, 0, 0, 0].log() - shares[0, 0, 0, 1].log()
    assert_scaled(ratio, head_width, heads)


# -- heads -----------------------------------------------------------------------------------------


@check(
    "heads",
    points=2,
    title="Head h attends with rows hD to (h+1)D of W_q and W_k, and with no others",
    hint="Which of the C columns of a projected query belong to head 0? Write it out for C=4, H=2.",
    shows="the worked example",
)
@pytest.mark.parametrize("name", ["W_q", "W_k"])
def test_heads_attend_with_their_own_rows(student, draw, name):
    inputs, weights = MAIN.inputs(draw), MAIN.weights(draw)
    _, before = MAIN.build(student, weights)(*inputs)
    MAIN.assert_shape_of_weights(before)
    for head in range(H):
        changed = weights | {name: weights[name].clone()}
        changed[name][head * D : (head + 1) * D] *= -1.5
        _, after = MAIN.build(student, changed)(*inputs)
        moved = [bool((after - before)[:, h].abs().max() > 1e-4) for h in range(H)]
        if not moved[head]:
            raise CheckFailure("A head's weights do not depend on its own rows of the projection.")
        if sum(moved) > 1:
            raise CheckFailure("A head's weights depend on rows that belong to another head.")


@check(
    "heads",
    points=2,
    title="Head h mixes columns hD to (h+1)D of the projected values, and puts them back there",
    hint="Merging undoes splitting. In which order do your axes lie just before you merge?",
    shows="the worked example",
)
def test_heads_mix_their_own_columns(student, draw):
    # Made of the student's own weights, so that nothing but splitting and merging shows here.
    weights = MAIN.showing(draw)
    query, key, value = MAIN.inputs(draw)
    output, shares = MAIN.build(student, weights)(query, key, value)
    MAIN.assert_shapes(output, shares)
    shares = shares.to(value.dtype)  # what dtype comes back is looked at elsewhere
    parts = [shares[:, h] @ value[:, :, h * D : (h + 1) * D] for h in range(H)]
    if bool(((output - torch.cat(parts, dim=-1)).abs() <= 1e-4).all()):
        return
    words = "With W_v and W_o the identity, columns hD to (h+1)D of the output are not head h's."
    tokens = torch.stack(parts, dim=1)  # (B, H, T, D)
    if bool(((output - tokens.reshape(B, T, C)).abs() <= 1e-4).all()):
        words = "Your heads are merged without bringing heads and features together: rows mix."
    elif bool(((output - tokens.permute(0, 2, 3, 1).reshape(B, T, C)).abs() <= 1e-4).all()):
        words = "Your heads are merged feature by feature; each head's D columns stay together."
    raise CheckFailure(words)


@check(
    "heads",
    points=1,
    title="Every head has weights of its own, and all are returned",
    hint="Are the weights averaged, or taken from one head, before they are returned?",
)
def test_heads_differ(student, draw):
    _, shares = MAIN.loaded(student, draw)(*MAIN.inputs(draw))
    MAIN.assert_shape_of_weights(shares)
    for first in range(H):
        for second in range(first):
            if bool(((shares[:, first] - shares[:, second]).abs() < 1e-4).all()):
                raise CheckFailure("Two of your heads have the same weights.")


# -- values ----------------------------------------------------------------------------------------


@check(
    "values",
    points=1,
    title="Output and weights are right for self-attention",
    hint="Compute one row of one head by hand from the handout's steps.",
    shows="the worked example",
)
def test_values_of_self_attention(student, reference, draw):
    x = draw.normal(B, T, C)
    assert_equals_reference(student, reference, draw, inputs=(x, x, x))


@check(
    "values",
    points=2,
    title="Output and weights are right where queries look at another sequence",
    hint="T and S differ here, and key and value are different tensors. Who passes through what?",
)
@pytest.mark.parametrize("setting", [MAIN, MORE_QUERIES], ids=["more-keys", "more-queries"])
def test_values_of_cross_attention(student, reference, draw, setting):
    assert_equals_reference(student, reference, draw, setting)


@check(
    "values",
    points=1,
    title="Output and weights are right for one head, for many, and for axes of size 1",
    hint="Does a number of your code belong to one size alone?",
)
@pytest.mark.parametrize(
    "sizes",
    [(3, 1, 4, 6, 5), (2, 6, 5, 3, 1), (1, 4, 1, 7, 2), (3, 2, 4, 1, 5)],
    ids=["one-head", "one-feature", "one-query", "one-key"],
)
def test_values_of_other_sizes(student, reference, draw, sizes):
    assert_equals_reference(student, reference, draw, Setting(*sizes))


@check(
    "values",
    points=1,
    title="Output and weights are right with a mask",
    hint="In which order do scale, mask and softmax come, and what does each of them change?",
    shows="two items, two heads and a mask for each item",
)
@pytest.mark.parametrize("rank", PLAIN_RANKS)
def test_values_with_mask(student, reference, draw, rank):
    assert_equals_reference(student, reference, draw, rank=rank)


# -- mask ------------------------------------------------------------------------------------------


def assert_mask_of_rank(student, draw, rank, setting):
    """A blocked key leaves its share to the others in proportion, whatever the scores are."""
    made = setting.loaded(student, draw)
    inputs, mask = setting.inputs(draw), setting.mask(draw, rank)
    (_, plain), (_, masked) = made(*inputs), made(*inputs, mask=mask)
    setting.assert_shape_of_weights(masked)
    assert_finite(masked, "weights")

    def shared_anew(allowed):
        return plain * allowed / (plain * allowed).sum(-1, keepdim=True)

    if rank == "(B, T, S)" and setting.batch == H and _close(masked, shared_anew(mask)):
        raise CheckFailure("A mask for each item of the batch acts as a mask for each head.")
    words = f"A mask {rank} does not block what it has to block, or blocks more."
    in_full = mask.unsqueeze(1) if mask.dim() == 3 else mask
    assert_close(masked, shared_anew(in_full), "weights", message=words)


def _close(one, other):
    return bool(((one - other).abs() <= 1e-4).all())


@check(
    "mask",
    points=1,
    title="A mask (T, S) is one for all items and all heads",
    hint="Which axes does a mask of two axes lack?",
)
@BATCHES
def test_mask_of_two_axes(student, draw, setting):
    assert_mask_of_rank(student, draw, "(T, S)", setting)


@check(
    "mask",
    points=3,
    title="A mask (B, T, S) is one for each item of the batch, never one for each head",
    hint="The scores are (B, H, T, S). Where do three axes land beside four, if nobody says?",
    shows="two items, two heads and a mask for each item",
)
@BATCHES
def test_mask_of_three_axes(student, draw, setting):
    assert_mask_of_rank(student, draw, "(B, T, S)", setting)


@check(
    "mask",
    points=1,
    title="Masks (B, 1, T, S) and (B, H, T, S): one for each item, or for each head of each item",
    hint="Does your code change a mask that has four axes already?",
)
@BATCHES
@pytest.mark.parametrize("rank", ["(B, 1, T, S)", "(B, H, T, S)"])
def test_mask_of_four_axes(student, draw, rank, setting):
    assert_mask_of_rank(student, draw, rank, setting)


@check(
    "mask",
    points=2,
    title="True means allowed: blocked keys get no weight, and the allowed ones share out 1",
    hint="Look at one row: which entries are 0, and which does your mask call allowed?",
    shows="two items, two heads and a mask for each item",
)
def test_mask_meaning(student, draw):
    mask = draw.mask(B, H, T, S)
    _, shares = MAIN.loaded(student, draw)(*MAIN.inputs(draw), mask=mask)
    assert_finite(shares, "weights")
    MAIN.assert_shape_of_weights(shares)
    assert_mask_obeyed(shares, mask)
    assert_rows_sum_to_one(shares, AXES)


@check(
    "mask",
    points=1,
    title="Blocked keys have no influence, however large; with none blocked all is as without mask",
    hint="Which number can a blocked score be that no other score can beat?",
)
@pytest.mark.parametrize("size", [1e2, 1e4])
def test_blocked_keys_have_no_influence(student, draw, size):
    made = MAIN.loaded(student, draw)
    query, key, value = MAIN.inputs(draw)
    mask = draw.mask(B, T, S)
    mask[:, :, 2] = False
    mask[:, :, 3] = True
    before, _ = made(query, key, value, mask=mask)
    large_key, large_value = key.clone(), value.clone()
    large_key[:, 2] *= size
    large_value[:, 2] *= size
    after, _ = made(query, large_key, large_value, mask=mask)
    words = "A key that no query may see changes the output when its key and value grow."
    assert_close(after, before, "output", message=words)
    everything, _ = made(query, key, value, mask=torch.ones(T, S, dtype=torch.bool))
    words = "With everything allowed the output has to be what it is without a mask."
    assert_close(everything, made(query, key, value)[0], "output", message=words)


@check(
    "mask",
    points=1,
    title="A blocked key gets no weight even if every allowed score is far below zero",
    hint="Which number can a blocked score be that is below every other?",
)
@pytest.mark.parametrize("size", [1e2, 1e4])
def test_blocked_keys_lose_to_low_scores(student, draw, size):
    # Scores far apart, so that each query takes the best allowed key and no rounding shows.
    order = draw.permutation(S - 1) + 1.0
    key = torch.cat([torch.zeros(1), -size * order]).view(1, S, 1).expand(1, S, C)
    mask = torch.ones(T, S, dtype=torch.bool)
    mask[:, 0] = False
    setting = MAIN._replace(batch=1)
    made = setting.build(student, setting.identity())
    _, shares = made(torch.ones(1, T, C), key, key, mask=mask)
    setting.assert_shape_of_weights(shares)
    if bool((shares[..., 0].abs() > 1e-6).any()) or bool(shares.isnan().any()):
        raise CheckFailure("A blocked key gets weight where every allowed score is far below zero.")


@check(
    "causal-leak",
    points=2,
    title="Under a causal mask no token sees a later one",
    hint="Change the last token alone. Which outputs may move?",
    shows="two items, two heads, and a causal mask",
)
@BATCHES
def test_no_leak_from_later_tokens(student, draw, setting):
    # The gradients of one output with respect to all inputs show what it depends on.
    made = MAIN.loaded(student, draw)
    x = draw.normal(setting.batch, S, C)
    causal = torch.ones(S, S, dtype=torch.bool).tril()
    names = {"B": setting.batch, "T": S, "C": C}

    def call(tokens):
        return made(tokens, tokens, tokens, mask=causal)

    for place in range(S):

        def only_this_token(output, place=place):
            assert_shape(output, names, "output")
            assert_finite(output.detach(), "output")
            return torch.zeros_like(output).index_fill_(1, torch.tensor([place]), 1.0)

        (gradient,) = gradients(call, (x,), only_this_token)
        reach = gradient.abs().amax(dim=(0, 2))
        if not bool((reach[place + 1 :] <= 1e-7).all()):
            raise CheckFailure("A token's output depends on later tokens: the future leaks.")
        if bool((reach[: place + 1] == 0).any()):
            raise CheckFailure("A token does not see the tokens that it may see.")


@check(
    "errors",
    points=2,
    title="A query with no allowed key raises ValueError",
    hint="What is softmax of a row that holds nothing but minus infinity?",
)
@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize("place", ["first", "last"])
def test_query_without_keys(student, draw, rank, place):
    # With as many items as heads no mask of three axes fails for its shape alone.
    setting = MAIN._replace(batch=H)
    mask = setting.mask(draw, rank)
    rows = mask.view(-1, S)
    rows[0 if place == "first" else -1] = False
    made = MAIN.loaded(student, draw)
    with assert_raises(ValueError, when="a query has no allowed key"):
        made(*setting.inputs(draw), mask=mask)


@check(
    "errors",
    points=1,
    title="A key that no query may see is no error",
    hint="Over which axis do you ask whether anything is allowed?",
)
@pytest.mark.parametrize("rank", PLAIN_RANKS)
def test_key_without_queries(student, draw, rank):
    mask = MAIN.mask(draw, rank)
    mask[..., 4] = False
    mask[..., 5] = True
    MAIN.loaded(student, draw)(*MAIN.inputs(draw), mask=mask)


# -- dropout ---------------------------------------------------------------------------------------

# One head shows each of its weights twice, so D = 2 S here. A row of queries is as many draws as
# the statistics need, even if batch and heads share them.
DROP = Setting(batch=B, heads=3, queries=400, keys=6, head_width=12)


def showing(student, draw, dropout):
    """A module whose output shows, in head h's columns, the weights of head h twice."""
    return DROP.build(student, DROP.showing(draw), dropout=dropout)


def showing_inputs(draw):
    """Query, key, and the values for ``showing``."""
    return DROP.inputs(draw)._replace(value=twice_the_identity(DROP.keys).repeat(B, 1, DROP.heads))


def shown(output):
    """The output of ``showing`` by heads: (B, H, T, 2S)."""
    DROP.assert_shape_of_output(output)
    return output.unflatten(-1, (DROP.heads, DROP.head_width)).transpose(1, 2)


@check(
    "dropout",
    points=2,
    title="In evaluation nothing is dropped: output and weights are those of dropout=0",
    hint="What tells your dropout whether the module is in training or in evaluation?",
)
def test_nothing_dropped_in_evaluation(student, draw):
    inputs, weights = MAIN.inputs(draw), MAIN.weights(draw)
    plain, plain_shares = MAIN.build(student, weights, dropout=0.0)(*inputs)
    made = MAIN.build(student, weights, dropout=0.6)
    made.train()(*inputs)
    for _ in range(2):
        output, shares = made.eval()(*inputs)
        words = "After .eval() the result is not that of dropout=0."
        assert_close(shares, plain_shares, "weights", message=words)
        assert_close(output, plain, "output", message=words)


@check(
    "dropout",
    points=2,
    title="In training about the share p of the weights is 0, and survivors grow by 1 / (1 - p)",
    hint="Where do the weights pass through dropout, and with which rate?",
)
@pytest.mark.parametrize("rate", [0.2, 0.7])
def test_weights_dropped_in_training(student, draw, rate):
    inputs = showing_inputs(draw)
    made = showing(student, draw, rate)
    plain = shown(made.eval()(*inputs)[0])[..., : DROP.keys]
    first, second = (shown(made.train()(*inputs)[0])[..., : DROP.keys] for _ in range(2))
    assert_share_dropped(first, rate)
    assert_survivors_scaled(first, plain, rate)
    assert_dropped_one_by_one(first)
    if torch.equal(first, second):
        raise CheckFailure("In training, calls with equal inputs give equal outputs.")


@check(
    "dropout",
    points=2,
    title="Dropout acts on the weights alone, not on the output",
    hint="Which of your tensors goes into dropout: before softmax, after it, or after the values?",
)
def test_dropped_where(student, draw):
    output, _ = showing(student, draw, 0.4).train()(*showing_inputs(draw))
    assert_dropped_before_mixing(shown(output))


@check(
    "dropout",
    points=1,
    title="At rate 0, which is the default, training is like evaluation",
    hint="What is the default value of `dropout` in your constructor?",
)
@pytest.mark.parametrize("rate", [0.0, None], ids=["zero", "default"])
def test_rate_zero(student, draw, rate):
    inputs = MAIN.inputs(draw)
    made = MAIN.loaded(student, draw, **({} if rate is None else {"dropout": rate}))
    plain, _ = made.eval()(*inputs)
    words = "At rate 0 the output in training is not the output in evaluation."
    assert_close(made.train()(*inputs)[0], plain, "output", message=words)


# -- numbers ---------------------------------------------------------------------------------------


@check(
    "numerics",
    points=1,
    title="Large scores give finite and right results",
    hint="exp(100) is more than float32 holds. What may be subtracted from a row before exp?",
)
def test_large_scores(student, reference, draw):
    query, key, value = MAIN.inputs(draw)
    inputs, weights = (query * 20, key * 20, value), MAIN.weights(draw)
    output, shares = MAIN.build(student, weights)(*inputs)
    assert_finite(shares, "weights")
    assert_finite(output, "output")
    exact = MAIN.build(reference, weights).to(torch.float64)
    _, wanted = exact(*(tensor.double() for tensor in inputs))
    # At such scores the rounding of float32 itself moves a weight by up to about 1e-3.
    assert_close(shares, wanted, "weights", tol=(0.0, 2e-2))
    assert_rows_sum_to_one(shares, AXES)


@check(
    "gradient",
    points=2,
    title="Gradients reach query, key and value, and are right",
    shows="which inputs the gradient reaches",
    hint="Is anything detached, converted to numbers, or computed without grad?",
)
def test_gradients(student, reference, draw):
    weights = MAIN.weights(draw)
    mine, right = (MAIN.build(module, weights) for module in (student, reference))
    assert_same_gradients(mine, right, MAIN.inputs(draw)._asdict(), draw)


@check(
    "gradient",
    points=1,
    title="With a mask gradients are finite and right too",
    shows="which inputs the gradient reaches",
    hint="What is the gradient of a score that was replaced?",
)
def test_gradients_with_mask(student, reference, draw):
    weights, mask = MAIN.weights(draw), draw.mask(B, 1, T, S)

    def call(module):
        made = MAIN.build(module, weights)
        return lambda *tensors: made(*tensors, mask=mask)

    named = MAIN.inputs(draw)._asdict()
    assert_same_gradients(call(student), call(reference), named, draw)


@check(
    "gradient",
    points=1,
    title="Gradients flow through the returned weights too",
    hint="Are the weights that you return still connected to the inputs?",
)
def test_gradients_of_weights(student, reference, draw):
    weights = MAIN.weights(draw)
    query, key, value = MAIN.inputs(draw)

    def call(module):
        made = MAIN.build(module, weights)
        return lambda q, k: made(q, k, value)

    named = {"query": query, "key": key}
    assert_same_gradients(call(student), call(reference), named, draw, which=1)


@check(
    "dtype",
    points=1,
    title="The dtype that goes in comes out: float32, float64 and bfloat16",
    hint="Does a line name a dtype, or make a tensor of its own with the default one?",
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("masked", [False, True], ids=["no-mask", "mask"])
def test_dtypes(student, draw, dtype, masked):
    # At the scale that nn.Linear starts with, rounded, so that both precisions begin alike; and
    # compared with the student's own float32, so that no other mistake shows here.
    weights = {name: draw.linear(C, C).bfloat16().float() for name in NAMES}
    inputs = MAIN.inputs(draw, dtype)
    options = {"mask": draw.mask(B, 1, T, S)} if masked else {}
    single, single_shares = MAIN.build(student, weights)(
        *(tensor.float() for tensor in inputs), **options
    )
    output, shares = MAIN.build(student, weights).to(dtype)(*inputs, **options)
    assert_dtype(output, dtype, "output")
    assert_dtype(shares, dtype, "weights")
    words = "The result is another one than for the same numbers in float32."
    assert_close(shares, single_shares, "weights", message=words, tol=tolerance(dtype))
    assert_close(output, single, "output", message=words, tol=tolerance(dtype))


@check(
    "device",
    points=1,
    title="Runs on whatever device the module and its inputs are on",
    hint="Does a line name a device, or make a tensor without asking its inputs where they are?",
)
def test_no_device_of_its_own(student, draw):
    made = MAIN.loaded(student, draw).to("meta")
    output, shares = made(*(tensor.to("meta") for tensor in MAIN.inputs(draw)))
    if output.device.type != "meta" or shares.device.type != "meta":
        raise CheckFailure("Your results are on another device than the inputs.")
    MAIN.assert_shapes(output, shares)


# -- manners ---------------------------------------------------------------------------------------


@check(
    "purity",
    points=1,
    title="Query, key, value and mask stay as they were, and no call changes the next",
    hint="Does a line work in place (+=, masked_fill_, div_), or keep something on self?",
)
@pytest.mark.parametrize("rank", PLAIN_RANKS)
def test_inputs_untouched(student, draw, rank):
    made = MAIN.loaded(student, draw)
    mask = MAIN.mask(draw, rank)
    named = MAIN.inputs(draw)._asdict() | {"mask": mask}
    before = {name: tensor.clone() for name, tensor in named.items()}
    query, key, value, mask = named.values()
    first, _ = made(query, key, value)
    made(query, key, value, mask=mask)
    assert_unchanged(before, named)
    made(*MORE_QUERIES._replace(batch=3).inputs(draw), mask=draw.mask(S, T))
    words = "A call with other inputs in between changes the result."
    assert_close(made(query, key, value)[0], first, "output", message=words)


@check(
    "batch",
    points=1,
    title="The items of a batch do not see each other",
    hint="Change one item. May another item's output move?",
)
@BATCHES
def test_items_are_independent(student, draw, setting):
    made, batch = setting.loaded(student, draw), setting.batch
    inputs = setting.inputs(draw)
    together, _ = made(*inputs)
    for item in (0, batch - 1):

        def only_this_item(output, item=item):
            setting.assert_shape_of_output(output)
            return torch.zeros_like(output).index_fill_(0, torch.tensor([item]), 1.0)

        others = [other for other in range(batch) if other != item]
        for gradient in gradients(made, inputs, only_this_item):
            if gradient is not None and not bool((gradient[others].abs() <= 1e-7).all()):
                raise CheckFailure("An item's output depends on another item of the batch.")
        alone, _ = made(*(tensor[item : item + 1] for tensor in inputs))
        words = "An item alone gives another output than in a batch."
        assert_close(together[item : item + 1], alone, "output", message=words)


@check(
    "layout",
    points=1,
    title="Inputs need not be contiguous in memory",
    hint="view() wants contiguous memory; reshape() does not.",
)
def test_inputs_that_are_not_contiguous(student, draw):
    made = MAIN.loaded(student, draw)
    query = draw.normal(T, B, C).transpose(0, 1)
    key = draw.normal(B, C, S).transpose(1, 2)
    value = draw.normal(1, S, C).expand(B, S, C)
    mask = draw.mask(T, S).T.contiguous().T
    words = "The output depends on how the inputs lie in memory."
    wanted, _ = made(*(tensor.contiguous() for tensor in (query, key, value)))
    assert_close(made(query, key, value)[0], wanted, "output", message=words)
    output, _ = made(query, key, value, mask=mask)
    wanted, _ = made(query, key, value, mask=mask.contiguous())
    # What a mask does to numbers is looked at elsewhere.
    if bool(wanted.isfinite().all()):
        assert_close(output, wanted, "output", message=words)


@check(
    "policy",
    points=2,
    title="Written without F.scaled_dot_product_attention and nn.MultiheadAttention",
    hint="The point here is to write the steps yourself.",
)
def test_written_by_hand(student, draw, forbidden_uses):
    assert_started(student.MultiHeadAttention, embed_dim=C, num_heads=H)
    assert_not_forbidden(forbidden_uses)
