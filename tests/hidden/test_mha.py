"""Hidden suite of `mha`.

Every size is distinct: B 2, H 3, T 5, S 8, D 7, C 21; masks are tried with B = H too. Values are
compared with loaded weights only, and a loader that is wrong is found first (support_mha).
"""

import math

import pytest
import torch
from support_dropout import (
    assert_dropped_before_mixing,
    assert_dropped_one_by_one,
    assert_share_dropped,
    assert_survivors_scaled,
    twice_the_identity,
)
from support_mha import NAMES, build, identity_weights, load, random_weights

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
    measured,
    normalised_axis,
    probe,
    tolerance,
)

B, H, T, S, D = 2, 3, 5, 8, 7
C = H * D
AXES = ("batch", "heads", "queries", "keys")
SHAPES = {"output": {"B": B, "T": T, "C": C}, "weights": {"B": B, "H": H, "T": T, "S": S}}
RANKS = {
    "(T, S)": lambda batch, heads, t, s: (t, s),
    "(B, T, S)": lambda batch, heads, t, s: (batch, t, s),
    "(B, 1, T, S)": lambda batch, heads, t, s: (batch, 1, t, s),
    "(B, H, T, S)": lambda batch, heads, t, s: (batch, heads, t, s),
}
PLAIN_RANKS = ["(T, S)", "(B, H, T, S)"]
"""Where another thing than the rank is looked at, so that a mistake in lifting costs no more."""


BATCHES = pytest.mark.parametrize(
    "batch", [B, H], ids=["another-B-than-H", "as-many-items-as-heads"]
)


def inputs(draw, batch=B, queries=T, keys=S, width=C, dtype=torch.float32):
    """Query, key and value."""
    return (
        draw.normal(batch, queries, width, dtype=dtype),
        draw.normal(batch, keys, width, dtype=dtype),
        draw.normal(batch, keys, width, dtype=dtype),
    )


def loaded(student, draw, heads=H, width=C, **options):
    """The student's module with random weights, in evaluation.

    For what holds whatever the weights are, so that a wrong loader costs nothing.
    """
    return load(student, random_weights(draw, width), heads, **options).eval()


def assert_equals_reference(student, reference, draw, arguments, heads=H, mask=None):
    """With the same random weights, output and weights are the reference's."""
    weights = random_weights(draw, arguments[0].shape[-1])
    options = {} if mask is None else {"mask": mask}
    # First, lest a module that writes into its inputs spoil the expected result.
    wanted_output, wanted_shares = build(reference, weights, heads=heads)(*arguments, **options)
    output, shares = build(student, weights, heads=heads)(*arguments, **options)
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
    arguments, weights = inputs(draw), random_weights(draw, C)
    output, shares = build(student, weights, heads=H)(*arguments)
    uniform = torch.full_like(shares, 1 / S)
    for name in NAMES:
        without = weights | {name: torch.zeros(C, C)}
        changed, changed_shares = build(student, without, heads=H)(*arguments)
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
    arguments = inputs(draw)
    made.eval()(*arguments)
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
    arguments, weights = inputs(draw), random_weights(draw, C)
    cotangent = draw.normal(B, T, C)
    made, wanted = (build(module, weights, heads=H) for module in (student, reference))
    for module in (wanted, made):
        output, _ = module(*arguments)
        assert_shape(output, SHAPES["output"], "output")
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
    made = loaded(student, draw).train(train)
    output, shares = made(*inputs(draw, queries=queries, keys=keys))
    shape, four = (B, queries, C), (B, H, queries, keys)
    if tuple(output.shape) == four and tuple(shares.shape) == shape:
        raise CheckFailure("Output and weights are swapped: the output comes first.")
    assert_shape(output, [("B", B), ("T", queries), ("C", C)], "output")
    assert_shape(shares, [("B", B), ("H", H), ("T", queries), ("S", keys)], "weights")


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
    batch, heads, queries, keys, head_width = sizes
    arguments = inputs(draw, batch, queries, keys, heads * head_width)
    made = loaded(student, draw, heads=heads, width=heads * head_width)
    output, shares = made(*arguments)
    assert_shape(output, [("B", batch), ("T", queries), ("C", heads * head_width)], "output")
    assert_shape(shares, [("B", batch), ("H", heads), ("T", queries), ("S", keys)], "weights")


# -- weights ---------------------------------------------------------------------------------------


@check(
    "row-sum",
    points=1,
    title="With each head, each query shares out exactly 1 among its keys",
    hint="What has to be true of the weights of one query in one head?",
    shows="two items, two heads, three queries and four keys",
)
def test_rows_sum_to_one(student, draw):
    _, shares = loaded(student, draw)(*inputs(draw))
    assert_rows_sum_to_one(shares, AXES)


@check(
    "wrong-axis",
    points=1,
    title="The weights are normalised over the keys and over no other axis",
    hint="A query shares out 1 among the keys. Which axis are the keys on?",
    shows="two items, two heads, three queries and four keys",
)
def test_normalised_over_the_keys(student, draw):
    _, shares = loaded(student, draw)(*inputs(draw))
    assert_finite(shares, "weights")
    other = normalised_axis(shares, AXES)
    if other is not None:
        raise CheckFailure(f"Your weights sum to 1 over {other}, not over the keys.")


@check(
    "scale",
    points=2,
    title="Scores are divided by the square root of the width of one head",
    hint="How many numbers does one head multiply and add for one score?",
)
@pytest.mark.parametrize("sizes", [(3, 7), (5, 3), (2, 11), (1, 6)], ids=str)
def test_ratio_of_two_keys(student, sizes):
    heads, head_width = sizes
    width = heads * head_width
    query, key = torch.ones(1, 1, width), torch.zeros(1, 2, width)
    key[:, 0] = 1.0
    _, shares = build(student, identity_weights(width), heads=heads)(query, key, key)
    assert_shape(shares, {"B": 1, "H": heads, "T": 1, "S": 2}, "weights")
    shares = shares.detach()
    assert_finite(shares, "weights")
    ratio = float(shares[0, 0, 0, 0].log() - shares[0, 0, 0, 1].log())
    wanted = math.sqrt(head_width)
    if abs(ratio - wanted) <= 1e-3 * head_width:
        return
    known = {
        head_width / math.sqrt(width): "They are what the root of the whole width C gives.",
        float(head_width): "They are what they would be without any scale.",
        1.0: "They are what dividing by the width itself gives, without the root.",
        head_width / math.sqrt(heads): "They are what the root of the number of heads gives.",
        head_width * wanted: "They are what multiplying by the root gives.",
        head_width / math.sqrt(2): "They are what the root of the number of keys gives.",
    }
    words = next((text for value, text in known.items() if abs(ratio - value) < 1e-2), "")
    raise CheckFailure(
        f"Two keys whose scores differ by D get weights in the wrong ratio. {words}".strip(),
        measured("log ratio {:.4f}, expected {:.4f}", ratio, wanted),
    )


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
    arguments, weights = inputs(draw), random_weights(draw, C)
    _, before = build(student, weights, heads=H)(*arguments)
    assert_shape(before, SHAPES["weights"], "weights")
    for head in range(H):
        changed = weights | {name: weights[name].clone()}
        changed[name][head * D : (head + 1) * D] *= -1.5
        _, after = build(student, changed, heads=H)(*arguments)
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
    weights = identity_weights(C) | {name: random_weights(draw, C)[name] for name in ("W_q", "W_k")}
    query, key, value = inputs(draw)
    output, shares = build(student, weights, heads=H)(query, key, value)
    assert_shape(output, SHAPES["output"], "output")
    assert_shape(shares, SHAPES["weights"], "weights")
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
    _, shares = loaded(student, draw)(*inputs(draw))
    assert_shape(shares, SHAPES["weights"], "weights")
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
    assert_equals_reference(student, reference, draw, (x, x, x))


@check(
    "values",
    points=2,
    title="Output and weights are right where queries look at another sequence",
    hint="T and S differ here, and key and value are different tensors. Who passes through what?",
)
@pytest.mark.parametrize("queries_keys", [(T, S), (S, T)], ids=["more-keys", "more-queries"])
def test_values_of_cross_attention(student, reference, draw, queries_keys):
    queries, keys = queries_keys
    assert_equals_reference(student, reference, draw, inputs(draw, queries=queries, keys=keys))


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
    batch, heads, queries, keys, head_width = sizes
    arguments = inputs(draw, batch, queries, keys, heads * head_width)
    assert_equals_reference(student, reference, draw, arguments, heads=heads)


@check(
    "values",
    points=1,
    title="Output and weights are right with a mask",
    hint="In which order do scale, mask and softmax come, and what does each of them change?",
    shows="two items, two heads and a mask for each item",
)
@pytest.mark.parametrize("rank", PLAIN_RANKS)
def test_values_with_mask(student, reference, draw, rank):
    mask = draw.mask(*RANKS[rank](B, H, T, S))
    assert_equals_reference(student, reference, draw, inputs(draw), mask=mask)


# -- mask ------------------------------------------------------------------------------------------


def check_rank(student, draw, rank, batch):
    """A blocked key leaves its share to the others in proportion, whatever the scores are."""
    made = loaded(student, draw)
    arguments, mask = inputs(draw, batch), draw.mask(*RANKS[rank](batch, H, T, S))
    (_, plain), (_, masked) = made(*arguments), made(*arguments, mask=mask)
    assert_shape(masked, {"B": batch, "H": H, "T": T, "S": S}, "weights")
    assert_finite(masked, "weights")

    def shared_anew(allowed):
        return plain * allowed / (plain * allowed).sum(-1, keepdim=True)

    if rank == "(B, T, S)" and batch == H and _close(masked, shared_anew(mask)):
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
def test_mask_of_two_axes(student, draw, batch):
    check_rank(student, draw, "(T, S)", batch)


@check(
    "mask",
    points=3,
    title="A mask (B, T, S) is one for each item of the batch, never one for each head",
    hint="The scores are (B, H, T, S). Where do three axes land beside four, if nobody says?",
    shows="two items, two heads and a mask for each item",
)
@BATCHES
def test_mask_of_three_axes(student, draw, batch):
    check_rank(student, draw, "(B, T, S)", batch)


@check(
    "mask",
    points=1,
    title="Masks (B, 1, T, S) and (B, H, T, S): one for each item, or for each head of each item",
    hint="Does your code change a mask that has four axes already?",
)
@BATCHES
@pytest.mark.parametrize("rank", ["(B, 1, T, S)", "(B, H, T, S)"])
def test_mask_of_four_axes(student, draw, rank, batch):
    check_rank(student, draw, rank, batch)


@check(
    "mask",
    points=2,
    title="True means allowed: blocked keys get no weight, and the allowed ones share out 1",
    hint="Look at one row: which entries are 0, and which does your mask call allowed?",
    shows="two items, two heads and a mask for each item",
)
def test_mask_meaning(student, draw):
    mask = draw.mask(B, H, T, S)
    _, shares = loaded(student, draw)(*inputs(draw), mask=mask)
    shares = shares.detach()
    assert_finite(shares, "weights")
    assert_shape(shares, SHAPES["weights"], "weights")
    if bool((shares[mask] < 1e-12).all()) and bool((shares[~mask] > 0).any()):
        raise CheckFailure("Your mask is inverted: the blocked keys get the weight.")
    if float(shares[~mask].abs().max()) > 1e-6:
        raise CheckFailure("Keys that the mask blocks still get weight.")
    if bool((shares[mask] <= 0).any()):
        raise CheckFailure("Keys that the mask allows get no weight.")
    assert_rows_sum_to_one(shares, AXES)


@check(
    "mask",
    points=1,
    title="Blocked keys have no influence, however large; with none blocked all is as without mask",
    hint="Which number can a blocked score be that no other score can beat?",
)
@pytest.mark.parametrize("size", [1e2, 1e4])
def test_blocked_keys_have_no_influence(student, draw, size):
    made = loaded(student, draw)
    query, key, value = inputs(draw)
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
    made = build(student, identity_weights(C), heads=H)
    _, shares = made(torch.ones(1, T, C), key, key, mask=mask)
    assert_shape(shares, {"B": 1, "H": H, "T": T, "S": S}, "weights")
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
def test_no_leak_from_later_tokens(student, draw, batch):
    # The gradients of one output with respect to all inputs show what it depends on.
    made = loaded(student, draw)
    x = draw.normal(batch, S, C)
    causal = torch.ones(S, S, dtype=torch.bool).tril()
    names = {"B": batch, "T": S, "C": C}

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
    mask = draw.mask(*RANKS[rank](H, H, T, S))
    rows = mask.view(-1, S)
    rows[0 if place == "first" else -1] = False
    made = loaded(student, draw)
    with assert_raises(ValueError, when="a query has no allowed key"):
        made(*inputs(draw, H), mask=mask)


@check(
    "errors",
    points=1,
    title="A key that no query may see is no error",
    hint="Over which axis do you ask whether anything is allowed?",
)
@pytest.mark.parametrize("rank", PLAIN_RANKS)
def test_key_without_queries(student, draw, rank):
    mask = draw.mask(*RANKS[rank](B, H, T, S))
    mask[..., 4] = False
    mask[..., 5] = True
    loaded(student, draw)(*inputs(draw), mask=mask)


# -- dropout ---------------------------------------------------------------------------------------

# One head shows each of its weights twice, so D = 2 S here. A row of queries is as many draws as
# the statistics need, even if batch and heads share them.
DROP_H, DROP_S, DROP_T = 3, 6, 400
DROP_C = DROP_H * 2 * DROP_S


def showing(student, draw, dropout):
    """A module whose output shows, in head h's columns, the weights of head h twice."""
    weights = identity_weights(DROP_C)
    weights |= {name: random_weights(draw, DROP_C)[name] for name in ("W_q", "W_k")}
    return build(student, weights, heads=DROP_H, dropout=dropout)


def showing_inputs(draw):
    """Query, key, and the values for ``showing``."""
    query, key, _ = inputs(draw, B, DROP_T, DROP_S, DROP_C)
    return query, key, twice_the_identity(DROP_S).repeat(B, 1, DROP_H)


def shown(output):
    """The output of ``showing`` by heads: (B, H, T, 2S)."""
    assert_shape(output, {"B": B, "T": DROP_T, "C": DROP_C}, "output")
    return output.unflatten(-1, (DROP_H, 2 * DROP_S)).transpose(1, 2)


@check(
    "dropout",
    points=2,
    title="In evaluation nothing is dropped: output and weights are those of dropout=0",
    hint="What tells your dropout whether the module is in training or in evaluation?",
)
def test_nothing_dropped_in_evaluation(student, draw):
    arguments, weights = inputs(draw), random_weights(draw, C)
    plain, plain_shares = build(student, weights, heads=H, dropout=0.0)(*arguments)
    made = build(student, weights, heads=H, dropout=0.6)
    made.train()(*arguments)
    for _ in range(2):
        output, shares = made.eval()(*arguments)
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
    arguments = showing_inputs(draw)
    made = showing(student, draw, rate)
    plain = shown(made.eval()(*arguments)[0])[..., :DROP_S]
    first, second = (shown(made.train()(*arguments)[0])[..., :DROP_S] for _ in range(2))
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
    arguments = inputs(draw)
    made = loaded(student, draw, dropout=rate)
    plain, _ = made.eval()(*arguments)
    words = "At rate 0 the output in training is not the output in evaluation."
    assert_close(made.train()(*arguments)[0], plain, "output", message=words)


# -- numbers ---------------------------------------------------------------------------------------


@check(
    "numerics",
    points=1,
    title="Large scores give finite and right results",
    hint="exp(100) is more than float32 holds. What may be subtracted from a row before exp?",
)
def test_large_scores(student, reference, draw):
    query, key, value = inputs(draw)
    arguments, weights = (query * 20, key * 20, value), random_weights(draw, C)
    output, shares = build(student, weights, heads=H)(*arguments)
    assert_finite(shares, "weights")
    assert_finite(output, "output")
    exact = build(reference, weights, heads=H).to(torch.float64)
    _, wanted = exact(*(tensor.double() for tensor in arguments))
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
    weights = random_weights(draw, C)
    mine, right = (build(module, weights, heads=H) for module in (student, reference))
    named = dict(zip(("query", "key", "value"), inputs(draw), strict=True))
    assert_same_gradients(mine, right, named, draw)


@check(
    "gradient",
    points=1,
    title="With a mask gradients are finite and right too",
    shows="which inputs the gradient reaches",
    hint="What is the gradient of a score that was replaced?",
)
def test_gradients_with_mask(student, reference, draw):
    weights, mask = random_weights(draw, C), draw.mask(B, 1, T, S)

    def call(module):
        made = build(module, weights, heads=H)
        return lambda *tensors: made(*tensors, mask=mask)

    named = dict(zip(("query", "key", "value"), inputs(draw), strict=True))
    assert_same_gradients(call(student), call(reference), named, draw)


@check(
    "gradient",
    points=1,
    title="Gradients flow through the returned weights too",
    hint="Are the weights that you return still connected to the inputs?",
)
def test_gradients_of_weights(student, reference, draw):
    weights = random_weights(draw, C)
    query, key, value = inputs(draw)

    def call(module):
        made = build(module, weights, heads=H)
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
    arguments = inputs(draw, dtype=dtype)
    options = {"mask": draw.mask(B, 1, T, S)} if masked else {}
    single, single_shares = build(student, weights, heads=H)(
        *(tensor.float() for tensor in arguments), **options
    )
    output, shares = build(student, weights, heads=H).to(dtype)(*arguments, **options)
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
    made = loaded(student, draw).to("meta")
    output, shares = made(*(tensor.to("meta") for tensor in inputs(draw)))
    if output.device.type != "meta" or shares.device.type != "meta":
        raise CheckFailure("Your results are on another device than the inputs.")
    assert_shape(output, SHAPES["output"], "output")
    assert_shape(shares, SHAPES["weights"], "weights")


# -- manners ---------------------------------------------------------------------------------------


@check(
    "purity",
    points=1,
    title="Query, key, value and mask stay as they were, and no call changes the next",
    hint="Does a line work in place (+=, masked_fill_, div_), or keep something on self?",
)
@pytest.mark.parametrize("rank", PLAIN_RANKS)
def test_inputs_untouched(student, draw, rank):
    made = loaded(student, draw)
    mask = draw.mask(*RANKS[rank](B, H, T, S))
    named = dict(zip(("query", "key", "value", "mask"), (*inputs(draw), mask), strict=True))
    before = {name: tensor.clone() for name, tensor in named.items()}
    query, key, value, mask = named.values()
    first, _ = made(query, key, value)
    made(query, key, value, mask=mask)
    assert_unchanged(before, named)
    made(*inputs(draw, 3, S, T), mask=draw.mask(S, T))
    words = "A call with other inputs in between changes the result."
    assert_close(made(query, key, value)[0], first, "output", message=words)


@check(
    "batch",
    points=1,
    title="The items of a batch do not see each other",
    hint="Change one item. May another item's output move?",
)
@BATCHES
def test_items_are_independent(student, draw, batch):
    made = loaded(student, draw)
    arguments = inputs(draw, batch)
    together, _ = made(*arguments)
    for item in (0, batch - 1):

        def only_this_item(output, item=item):
            assert_shape(output, {"B": batch, "T": T, "C": C}, "output")
            return torch.zeros_like(output).index_fill_(0, torch.tensor([item]), 1.0)

        others = [other for other in range(batch) if other != item]
        for gradient in gradients(made, arguments, only_this_item):
            if gradient is not None and not bool((gradient[others].abs() <= 1e-7).all()):
                raise CheckFailure("An item's output depends on another item of the batch.")
        alone, _ = made(*(tensor[item : item + 1] for tensor in arguments))
        words = "An item alone gives another output than in a batch."
        assert_close(together[item : item + 1], alone, "output", message=words)


@check(
    "layout",
    points=1,
    title="Inputs need not be contiguous in memory",
    hint="view() wants contiguous memory; reshape() does not.",
)
def test_inputs_that_are_not_contiguous(student, draw):
    made = loaded(student, draw)
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


# -- probes ----------------------------------------------------------------------------------------

CROSS = (
    {"batch": 2, "heads": 3, "queries": 4, "keys": 5, "head_width": 3},
    {"batch": 3, "heads": 2, "queries": 5, "keys": 4, "head_width": 6},
)
SQUARE = (
    {"batch": 2, "heads": 3, "queries": 4, "keys": 4, "head_width": 3},
    {"batch": 3, "heads": 2, "queries": 5, "keys": 5, "head_width": 6},
)
AS_MANY_ITEMS = (
    {"batch": 3, "heads": 3, "queries": 4, "keys": 5, "head_width": 2},
    {"batch": 2, "heads": 2, "queries": 5, "keys": 3, "head_width": 3},
)


def answer(student, draw, sizes, mask=None, weights=None, times=1.0):
    """Output and weights of one call, with random weights and inputs."""
    width = sizes["heads"] * sizes["head_width"]
    weights = random_weights(draw, width) if weights is None else weights
    query, key, value = inputs(draw, sizes["batch"], sizes["queries"], sizes["keys"], width)
    options = {} if mask is None else {"mask": mask}
    made = load(student, weights, sizes["heads"]).eval()
    output, shares = made(query * times, key * times, value, **options)
    return {"output": output, "weights": shares}


def mask_for(draw, rank, sizes):
    axes = (sizes["batch"], sizes["heads"], sizes["queries"], sizes["keys"])
    return draw.mask(*RANKS[rank](*axes))


@probe(*CROSS)
def probe_cross(student, draw, **sizes):
    return answer(student, draw, sizes)


@probe(*SQUARE)
def probe_square(student, draw, **sizes):
    return answer(student, draw, sizes)


@probe(*SQUARE)
def probe_self_attention(student, draw, **sizes):
    width = sizes["heads"] * sizes["head_width"]
    x = draw.normal(sizes["batch"], sizes["queries"], width)
    made = load(student, random_weights(draw, width), sizes["heads"]).eval()
    output, shares = made(x, x, x)
    return {"output": output, "weights": shares}


@probe(*CROSS)
def probe_heads(student, draw, **sizes):
    width = sizes["heads"] * sizes["head_width"]
    return answer(student, draw, sizes, weights=identity_weights(width))


@probe(*SQUARE)
def probe_mask_of_two_axes(student, draw, **sizes):
    mask = mask_for(draw, "(T, S)", sizes)
    mask[0, 0], mask[0, 1] = False, True
    return answer(student, draw, sizes, mask=mask)


@probe(*AS_MANY_ITEMS)
def probe_mask_for_each_item(student, draw, **sizes):
    return answer(student, draw, sizes, mask=mask_for(draw, "(B, T, S)", sizes))


@probe(*CROSS)
def probe_mask_for_each_item_of_more_heads(student, draw, **sizes):
    return answer(student, draw, sizes, mask=mask_for(draw, "(B, T, S)", sizes))


@probe(*CROSS)
def probe_mask_for_each_item_in_four_axes(student, draw, **sizes):
    return answer(student, draw, sizes, mask=mask_for(draw, "(B, 1, T, S)", sizes))


@probe(*CROSS)
def probe_mask_for_each_head(student, draw, **sizes):
    return answer(student, draw, sizes, mask=mask_for(draw, "(B, H, T, S)", sizes))


@probe({**CROSS[0], "below": 3e2}, {**CROSS[1], "below": 1e5})
def probe_allowed_scores_are_low(student, draw, below, **sizes):
    width = sizes["heads"] * sizes["head_width"]
    query = draw.normal(sizes["batch"], sizes["queries"], width).abs()
    key = -draw.normal(sizes["batch"], sizes["keys"], width).abs() * below
    key[:, 0] = 0.0
    mask = mask_for(draw, "(T, S)", sizes)
    mask[:, 0], mask[:, 1] = False, True
    made = load(student, identity_weights(width), sizes["heads"]).eval()
    return {"weights": made(query, key, key, mask=mask)[1]}


@probe(*CROSS)
def probe_large_scores(student, draw, **sizes):
    return answer(student, draw, sizes, times=15.0)


@probe(*CROSS)
def probe_query_without_keys(student, draw, **sizes):
    mask = mask_for(draw, "(B, H, T, S)", sizes)
    mask[-1, -1, 2] = False
    return answer(student, draw, sizes, mask=mask)


@probe(*CROSS)
def probe_first_query_without_keys(student, draw, **sizes):
    mask = mask_for(draw, "(B, H, T, S)", sizes)
    mask[0, 0, 0] = False
    return answer(student, draw, sizes, mask=mask)


@probe(*CROSS)
def probe_nothing_allowed(student, draw, **sizes):
    mask = torch.zeros(sizes["queries"], sizes["keys"], dtype=torch.bool)
    return answer(student, draw, sizes, mask=mask)


@probe(*CROSS)
def probe_key_without_queries(student, draw, **sizes):
    mask = mask_for(draw, "(T, S)", sizes)
    mask[:, 1], mask[:, 0] = False, True
    return answer(student, draw, sizes, mask=mask)


@probe({"width": 10, "heads": 3}, {"width": 3, "heads": 6})
def probe_width_that_does_not_divide(student, draw, width, heads):
    try:
        student.MultiHeadAttention(embed_dim=width, num_heads=heads)
    except (ValueError, AssertionError):
        return {"noticed": torch.tensor(True)}
    return {"noticed": torch.tensor(False)}


@probe(*CROSS)
def probe_gradients(student, draw, **sizes):
    width = sizes["heads"] * sizes["head_width"]
    leaves = inputs(draw, sizes["batch"], sizes["queries"], sizes["keys"], width)
    leaves = [tensor.requires_grad_() for tensor in leaves]
    made = load(student, random_weights(draw, width), sizes["heads"]).eval()
    found = {}
    for name, result in zip(("output", "weights"), made(*leaves), strict=True):
        if result.requires_grad:
            total = (result * draw.normal(*result.shape)).sum()
            each = torch.autograd.grad(total, leaves, allow_unused=True, retain_graph=True)
            named = zip(("query", "key", "value"), each, strict=True)
            found |= {f"{name}/{leaf}": grad for leaf, grad in named if grad is not None}
    return found


@probe(
    {"batch": 2, "heads": 3, "queries": 4, "keys": 5, "head_width": 5},
    {"batch": 3, "heads": 2, "queries": 5, "keys": 4, "head_width": 6},
)
def probe_parameters(student, draw, **sizes):
    """How many numbers are registered, and how many of them learn, biases apart."""
    width = sizes["heads"] * sizes["head_width"]
    made = student.MultiHeadAttention(embed_dim=width, num_heads=sizes["heads"]).eval()
    arguments = inputs(draw, sizes["batch"], sizes["queries"], sizes["keys"], width)
    output, _ = made(*arguments)
    if output.requires_grad:
        (output * draw.normal(*output.shape)).sum().backward()
    matrices = [p for p in made.parameters() if p.numel() > 3 * width]
    learning = [p for p in matrices if p.grad is not None and bool((p.grad != 0).any())]
    return {
        "registered": torch.tensor(sum(p.numel() for p in matrices)),
        "learning": torch.tensor(sum(p.numel() for p in learning)),
    }


@probe(*CROSS)
def probe_bfloat16(student, draw, **sizes):
    width = sizes["heads"] * sizes["head_width"]
    made = load(student, identity_weights(width), sizes["heads"]).eval().to(torch.bfloat16)
    arguments = inputs(draw, sizes["batch"], sizes["queries"], sizes["keys"], width, torch.bfloat16)
    # Right answers round at different places; only the dtype is compared.
    named = zip(("output", "weights"), made(*arguments), strict=True)
    return {name: torch.zeros(1, dtype=tensor.dtype) for name, tensor in named}


@probe(*CROSS)
def probe_meta(student, draw, **sizes):
    width = sizes["heads"] * sizes["head_width"]
    made = load(student, identity_weights(width), sizes["heads"]).eval().to("meta")
    arguments = inputs(draw, sizes["batch"], sizes["queries"], sizes["keys"], width)
    output, shares = made(*(tensor.to("meta") for tensor in arguments))
    return {"output": output, "weights": shares}


@probe(*CROSS)
def probe_inputs_afterwards(student, draw, **sizes):
    width = sizes["heads"] * sizes["head_width"]
    query, key, value = inputs(draw, sizes["batch"], sizes["queries"], sizes["keys"], width)
    mask = mask_for(draw, "(T, S)", sizes)
    made = load(student, identity_weights(width), sizes["heads"]).eval()
    first, _ = made(query, key, value)
    made(query, key, value, mask=mask)
    afterwards = {"query": query, "key": key, "value": value, "mask": mask.clone()}
    second, _ = made(query, key, value)
    return {**afterwards, "again": torch.tensor(torch.equal(first, second))}


@probe(*CROSS)
def probe_not_contiguous(student, draw, **sizes):
    width = sizes["heads"] * sizes["head_width"]
    query = draw.normal(sizes["queries"], sizes["batch"], width).transpose(0, 1)
    key = draw.normal(sizes["batch"], width, sizes["keys"]).transpose(1, 2)
    made = load(student, random_weights(draw, width), sizes["heads"]).eval()
    output, shares = made(query, key, key)
    return {"output": output, "weights": shares}


@probe(
    {"batch": 1, "heads": 1, "queries": 1, "keys": 3, "head_width": 2},
    {"batch": 2, "heads": 3, "queries": 1, "keys": 1, "head_width": 1},
)
def probe_axes_of_size_one(student, draw, **sizes):
    return answer(student, draw, sizes)


def look(made, draw, heads, keys):
    """Numbers that tell how a mode treats equal weights: the same whatever is drawn.

    Every weight is 1 / keys before dropout. Of what comes out: what a survivor is, the share of
    zeros in tenths, and whether zeros come in both copies or in columns.
    """
    width = heads * 2 * keys
    value = twice_the_identity(keys).repeat(1, 1, heads)
    output, _ = made(torch.ones(1, 400, width), torch.ones(1, keys, width), value)
    assert_shape(output, {"B": 1, "T": 400, "C": width}, "output")
    first, second = output.detach().unflatten(-1, (heads, 2 * keys)).chunk(2, dim=-1)
    zero = first == 0
    alive = first[~zero] if bool(zero.any()) and not bool(zero.all()) else first.flatten()[:1]
    # What depends on the draw is not told: survivors that differ, the share of few zeros.
    equal = bool(((alive - alive[0]).abs() < 1e-6).all())
    columns = bool((zero == zero[:, :1]).all())
    few = columns and bool(zero.any()) and not bool(zero.all())
    return {
        "survivor": alive[0] if equal else torch.tensor(-1.0),
        "share": torch.tensor(-1.0) if few else (zero.float().mean() * 10).round(),
        "both": torch.tensor(torch.equal(zero, second == 0)),
        "columns": torch.tensor(columns),
    }


@probe({"rate": 0.3, "heads": 2, "keys": 8}, {"rate": 0.6, "heads": 3, "keys": 6})
def probe_training(student, draw, rate, heads, keys):
    made = load(student, identity_weights(heads * 2 * keys), heads, rate)
    return look(made.train(), draw, heads, keys)


@probe({"rate": 0.3, "heads": 2, "keys": 8}, {"rate": 0.6, "heads": 3, "keys": 6})
def probe_evaluation(student, draw, rate, heads, keys):
    made = load(student, identity_weights(heads * 2 * keys), heads, rate)
    return look(made.eval(), draw, heads, keys)


@probe({"heads": 2, "keys": 8}, {"heads": 3, "keys": 6})
def probe_default_rate(student, draw, heads, keys):
    made = load(student, identity_weights(heads * 2 * keys), heads)
    return look(made.train(), draw, heads, keys)
