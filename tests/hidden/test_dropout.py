"""Hidden suite of `dropout`.

Every size is distinct: B 2, H 6, T 5, S 8, D 7, Dv 9. The weights are not returned; with the
identity as values the output shows them. Training is looked at with more queries and keys (rows of
RANDOM_T x RANDOM_S are as many draws as its statistics need, even if batch and heads share them).
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
from support_functions import assert_items_independent

from grader.suite import (
    CheckFailure,
    assert_close,
    assert_dtype,
    assert_finite,
    assert_not_forbidden,
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

B, H, T, S, D, DV = 2, 6, 5, 8, 7, 9
RANDOM_T, RANDOM_S = 60, 44
RATES = [0.2, 0.7]
AXES = ("batch", "heads", "queries", "keys")
LEADING = {"no batch": (), "a batch": (B,), "batch and heads": (B, H)}
AXES_OF = {(): [], (B,): [("B", B)], (B, H): [("B", B), ("H", H)]}


def evaluating(module, dropout=0.0):
    """The student's or the reference's attention, not in training.

    At rate 0, unless dropout is the matter, so that a mistake in it costs the checks of it alone.
    """
    return module.MaskedScaledDotProductAttention(dropout=dropout).eval()


def training(module, dropout):
    """The student's or the reference's attention in training."""
    return module.MaskedScaledDotProductAttention(dropout=dropout).train()


def inputs(draw, *leading, queries=T, keys=S, width=D, value_width=DV, dtype=torch.float32):
    """Query, key and value with the given leading axes."""
    return (
        draw.normal(*leading, queries, width, dtype=dtype),
        draw.normal(*leading, keys, width, dtype=dtype),
        draw.normal(*leading, keys, value_width, dtype=dtype),
    )


def random_inputs(draw, *leading):
    """Query and key for looking at training, and the values that show every weight twice."""
    query, key, _ = inputs(draw, *leading, queries=RANDOM_T, keys=RANDOM_S)
    return query, key, twice_the_identity(RANDOM_S).expand(*leading, -1, -1)


def shown_weights(attention, draw, *leading, **options):
    """Query and key are drawn; the values are the identity, so the output is the weights."""
    query, key, _ = inputs(draw, *leading)
    weights = attention(query, key, torch.eye(S).expand(*leading, S, S), **options)
    names = AXES_OF[leading]
    assert_shape(weights, [*names, ("T", T), ("S", S)], "output")
    return weights


def assert_equals_reference(student, reference, arguments, **options):
    """In evaluation the output is the reference's."""
    output = evaluating(student)(*arguments, **options)
    assert_close(output, evaluating(reference)(*arguments, **options), "output")


# -- shape -----------------------------------------------------------------------------------------


@check(
    "shape",
    points=2,
    title="The output is (..., T, Dv), whatever axes come first, in training too",
    hint="Write the shape of each intermediate result beside its line. Which line changes them?",
)
@pytest.mark.parametrize("leading", LEADING.values(), ids=LEADING)
@pytest.mark.parametrize("mode", [evaluating, training], ids=["evaluation", "training"])
def test_shapes(student, draw, leading, mode):
    output = mode(student, dropout=0.5)(*inputs(draw, *leading))
    names = AXES_OF[leading]
    assert_shape(output, [*names, ("T", T), ("Dv", DV)], "output")


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
    output = evaluating(student)(*arguments)
    assert_shape(output, [("B", batch), ("H", heads), ("T", queries), ("D", width)], "output")


# -- dropout ---------------------------------------------------------------------------------------


@check(
    "dropout",
    points=3,
    title="In evaluation nothing is dropped: the output is that of dropout=0",
    hint="What tells your dropout whether the module is in training or in evaluation?",
)
@pytest.mark.parametrize("rate", [0.3, 0.9])
def test_nothing_dropped_in_evaluation(student, draw, rate):
    arguments = inputs(draw, B, H)
    attention = evaluating(student, dropout=rate)
    output = attention(*arguments)
    words = "After .eval() two calls with equal inputs give different outputs."
    assert_close(attention(*arguments), output, "output", message=words)
    plain = evaluating(student)(*arguments)
    words = "After .eval() the output still depends on the dropout rate."
    assert_close(output, plain, "output", message=words)


@check(
    "dropout",
    points=2,
    title="In training about the share p of the weights is exactly 0",
    hint="Is `dropout` the share that goes, or the share that stays?",
    shows="training at rate 0.5: the smallest and the largest weight",
)
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("leading", [(), (B, 3)], ids=["no-batch", "batch-and-heads"])
def test_share_dropped(student, draw, rate, leading):
    shown = training(student, rate)(*random_inputs(draw, *leading))
    assert_share_dropped(shown[..., :RANDOM_S], rate)


@check(
    "dropout",
    points=3,
    title="In training the surviving weights grow by 1 / (1 - p)",
    hint="What has to happen to the survivors, so that the expected sum of a row stays 1?",
    shows="training at rate 0.5: the smallest and the largest weight",
)
@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("leading", [(), (B, 3)], ids=["no-batch", "batch-and-heads"])
def test_survivors_scaled(student, draw, rate, leading):
    arguments = random_inputs(draw, *leading)
    plain = evaluating(student)(*arguments)
    dropped = training(student, rate)(*arguments)
    assert_survivors_scaled(dropped[..., :RANDOM_S], plain[..., :RANDOM_S], rate)


@check(
    "dropout",
    points=3,
    title="Dropout acts on the weights, not on the scores, the values or the output",
    hint="Which of your tensors goes into dropout: before softmax, after it, or after the values?",
    shows="training at rate 0.5: the smallest and the largest weight",
)
def test_dropped_where(student, draw):
    shown = training(student, 0.4)(*random_inputs(draw))
    assert_shape(shown, [("T", RANDOM_T), ("2S", 2 * RANDOM_S)], "output")
    assert_dropped_before_mixing(shown)
    assert_dropped_one_by_one(shown[..., :RANDOM_S])


@check(
    "dropout",
    points=2,
    title="Two calls in training drop different weights",
    hint="Is something drawn once and kept, or seeded anew at each call?",
)
def test_training_calls_differ(student, draw):
    attention = training(student, 0.5)
    arguments = random_inputs(draw)
    first = attention(*arguments)
    for _ in range(3):
        if not torch.equal(attention(*arguments), first):
            return
    raise CheckFailure("In training, calls with equal inputs give equal outputs.")


@check(
    "dropout",
    points=2,
    title="The ends of the range: p = 0 drops nothing, p = 1 drops everything",
    hint="Does your code divide by 1 - p, or ask `if dropout`? What is that at p = 1 and at p = 0?",
    shows="training at rate 1: every weight is dropped",
)
def test_ends_of_the_range(student, draw):
    arguments = inputs(draw, B)
    plain = evaluating(student)(*arguments)
    words = "At rate 0 the output in training is not the output in evaluation."
    assert_close(training(student, 0.0)(*arguments), plain, "output", message=words)
    nothing = training(student, 1.0)(*arguments)
    assert_finite(nothing, "output at rate 1")
    words = "At rate 1 every weight is dropped, so the output in training has to be 0."
    assert_close(nothing, torch.zeros(B, T, DV), "output", message=words)
    words = "At rate 1 the output in evaluation is not that of rate 0."
    assert_close(evaluating(student, 1.0)(*arguments), plain, "output", message=words)


@check(
    "dropout",
    points=1,
    title="Without a rate, dropout is 0.1",
    hint="What is the default value of `dropout` in your constructor?",
)
def test_default_rate(student, draw):
    attention = student.MaskedScaledDotProductAttention().train()
    shown = attention(*random_inputs(draw))[..., :RANDOM_S]
    share = float((shown == 0).double().mean())
    # About 8 standard deviations to either side.
    if not 0.05 < share < 0.15:
        raise CheckFailure(
            "Without a rate about one weight in ten is dropped in training; not so in yours.",
            measured("the share of zeros is {:.3f}", share),
        )


@check(
    "dropout",
    points=1,
    title="Training and evaluation can be switched at any time",
    hint="Is the mode asked for at each call, or remembered from the start?",
)
def test_switching(student, draw):
    attention = student.MaskedScaledDotProductAttention(dropout=0.5)
    arguments = random_inputs(draw)
    plain = attention.eval()(*arguments)
    for _ in range(2):
        if torch.equal(attention.train()(*arguments), plain):
            raise CheckFailure("After .eval() and then .train() nothing is dropped any more.")
        words = "After .train() and then .eval() the output is not what it was in evaluation."
        assert_close(attention.eval()(*arguments), plain, "output", message=words)


@check(
    "dropout",
    points=2,
    title="With a mask in training: blocked keys stay at 0, allowed survivors grow by 1 / (1 - p)",
    hint="In which order do mask, softmax and dropout come?",
)
def test_training_with_mask(student, draw):
    arguments, rate = random_inputs(draw, B), 0.5
    mask = draw.mask(B, RANDOM_T, RANDOM_S)
    plain = evaluating(student)(*arguments, mask=mask)[..., :RANDOM_S]
    dropped = training(student, rate)(*arguments, mask=mask)[..., :RANDOM_S]
    assert_finite(dropped, "output")
    if float(dropped[~mask].abs().max()) > 1e-6:
        raise CheckFailure("In training, keys that the mask blocks get weight.")
    assert_share_dropped(dropped[mask], rate)
    assert_survivors_scaled(dropped, plain, rate)


# -- weights, read from outside --------------------------------------------------------------------


@check(
    "row-sum",
    points=1,
    title="In evaluation each query shares out exactly 1 among its keys",
    hint="What has to be true of the weights of one query, however many keys there are?",
    shows="evaluation: three queries and four keys, whose values show the weights",
)
@pytest.mark.parametrize("leading", LEADING.values(), ids=LEADING)
def test_rows_sum_to_one(student, draw, leading):
    assert_rows_sum_to_one(shown_weights(evaluating(student), draw, *leading), AXES)


@check(
    "wrong-axis",
    points=1,
    title="The weights are normalised over the keys and over no other axis",
    hint="A query shares out 1 among the keys. Which axis are the keys on?",
    shows="evaluation: three queries and four keys, whose values show the weights",
)
@pytest.mark.parametrize("leading", LEADING.values(), ids=LEADING)
def test_normalised_over_the_keys(student, draw, leading):
    weights = shown_weights(evaluating(student), draw, *leading)
    assert_finite(weights, "output")
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
    query = torch.ones(1, width)
    key = torch.stack([torch.ones(width), torch.zeros(width)])
    weights = evaluating(student)(query, key, torch.eye(2))
    assert_shape(weights, [("T", 1), ("S", 2)], "output")
    assert_finite(weights, "output")
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
    points=1,
    title="In evaluation the output is right for one sequence that attends to itself",
    hint="Compute one row by hand from the handout's steps.",
)
def test_values_of_self_attention(student, reference, draw):
    assert_equals_reference(student, reference, inputs(draw, queries=T, keys=T, value_width=D))


@check(
    "values",
    points=2,
    title="In evaluation the output is right where there are more keys than queries, or fewer",
    hint="T and S differ here, and so do D and Dv. Which of them does each line use?",
)
@pytest.mark.parametrize("queries_keys", [(T, S), (S, T)], ids=["more-keys", "more-queries"])
def test_values_of_cross_attention(student, reference, draw, queries_keys):
    queries, keys = queries_keys
    assert_equals_reference(student, reference, inputs(draw, queries=queries, keys=keys))


@check(
    "values",
    points=2,
    title="In evaluation the output is right for a batch, for heads, and for axes of size 1",
    hint="Count axes from the end (-1, -2), not from the front.",
)
def test_values_with_leading_axes(student, reference, draw):
    assert_equals_reference(student, reference, inputs(draw, B))
    assert_equals_reference(student, reference, inputs(draw, B, H))
    assert_equals_reference(student, reference, inputs(draw, 1, 2, queries=1, keys=3))
    assert_equals_reference(student, reference, inputs(draw, 2, 1, 3, queries=2, keys=1))


@check(
    "values",
    points=1,
    title="In evaluation the output is right with a mask",
    hint="In which order do scale, mask and softmax come, and what does each of them change?",
    shows="evaluation: three queries, four keys and a mask",
)
@pytest.mark.parametrize("leading", LEADING.values(), ids=LEADING)
def test_values_with_mask(student, reference, draw, leading):
    mask = draw.mask(*leading, T, S)
    assert_equals_reference(student, reference, inputs(draw, *leading), mask=mask)


# -- mask ------------------------------------------------------------------------------------------


@check(
    "mask",
    points=2,
    title="True means allowed: blocked keys get no weight, allowed keys get some",
    hint="Look at one row: which entries are 0, and which does your mask call allowed?",
    shows="evaluation: three queries, four keys and a mask",
)
def test_mask_meaning(student, draw):
    mask = draw.mask(B, T, S)
    weights = shown_weights(evaluating(student), draw, B, mask=mask)
    assert_finite(weights, "output")
    if bool((weights[mask] < 1e-12).all()) and bool((weights[~mask] > 0).any()):
        raise CheckFailure("Your mask is inverted: the blocked keys get the weight.")
    if float(weights[~mask].abs().max()) > 1e-6:
        raise CheckFailure("Keys that the mask blocks still get weight.")
    if bool((weights[mask] <= 0).any()):
        raise CheckFailure("Keys that the mask allows get no weight.")


@check(
    "mask",
    points=2,
    title="The mask acts before softmax: the allowed weights of a query still sum to 1",
    hint="What does a blocked score have to be before softmax, so that it counts for nothing?",
    shows="evaluation: three queries, four keys and a mask",
)
@pytest.mark.parametrize("leading", LEADING.values(), ids=LEADING)
def test_mask_before_softmax(student, draw, leading):
    # A blocked key leaves its share to the others in proportion, whatever the scores are.
    attention = evaluating(student)
    query, key, _ = inputs(draw, *leading)
    value, mask = torch.eye(S).expand(*leading, S, S), draw.mask(*leading, T, S)
    plain, masked = attention(query, key, value), attention(query, key, value, mask=mask)
    assert_shape(masked, [*AXES_OF[leading], ("T", T), ("S", S)], "output")
    assert_rows_sum_to_one(masked, AXES)
    words = "The keys that are allowed do not share out anew what the blocked ones leave to them."
    shared_anew = plain * mask / (plain * mask).sum(-1, keepdim=True)
    assert_close(masked, shared_anew, "output", message=words)


@check(
    "mask",
    points=1,
    title="A mask broadcasts: one for all queries, for all heads, for the whole batch",
    hint="Which shapes does (..., T, S) broadcast with? Leave that to PyTorch.",
)
@pytest.mark.parametrize(
    "shape",
    [(S,), (1, S), (T, 1), (T, S), (B, 1, 1, S), (B, 1, T, S), (1, H, T, S), (H, T, S)],
    ids=str,
)
def test_mask_broadcasts(student, draw, shape):
    attention, arguments = evaluating(student), inputs(draw, B, H)
    mask = draw.mask(*shape) if shape[-1] > 1 else torch.ones(shape, dtype=torch.bool)
    output = attention(*arguments, mask=mask)
    assert_shape(output, [("B", B), ("H", H), ("T", T), ("Dv", DV)], "output")
    words = "A mask that is written once for several rows acts otherwise than one written in full."
    in_full = mask.expand(B, H, T, S).contiguous()
    assert_close(output, attention(*arguments, mask=in_full), "output", message=words)


@check(
    "mask",
    points=1,
    title="Blocked keys have no influence, however large; with none blocked all is as without mask",
    hint="Which number can a blocked score be that no other score can beat?",
)
@pytest.mark.parametrize("size", [1e2, 1e4, 1e6])
def test_blocked_keys_have_no_influence(student, draw, size):
    attention = evaluating(student)
    query, key, value = inputs(draw, B)
    mask = draw.mask(B, T, S)
    mask[:, :, 2] = False
    mask[:, :, 3] = True
    before = attention(query, key, value, mask=mask)
    large_key, large_value = key.clone(), value.clone()
    large_key[:, 2] = -size * key[:, 2].sign()
    large_value[:, 2] = size
    after = attention(query, large_key, large_value, mask=mask)
    words = "A key that no query may see changes the output when its key and value grow."
    assert_close(after, before, "output", message=words)
    everything = attention(query, key, value, mask=torch.ones(T, S, dtype=torch.bool))
    words = "With everything allowed the output has to be what it is without a mask."
    assert_close(everything, attention(query, key, value), "output", message=words)


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
    key = torch.cat([torch.zeros(1), -size * order]).view(S, 1).expand(S, D)
    mask = torch.ones(T, S, dtype=torch.bool)
    mask[:, 0] = False
    weights = evaluating(student)(torch.ones(T, D), key, torch.eye(S), mask=mask)
    assert_shape(weights, [("T", T), ("S", S)], "output")
    if bool((weights[:, 0].abs() > 1e-6).any()) or bool(weights.isnan().any()):
        raise CheckFailure("A blocked key gets weight where every allowed score is far below zero.")


@check(
    "causal-leak",
    points=2,
    title="Under a causal mask no query sees a later key, in training neither",
    hint="Change the last key and value. Which outputs may move?",
)
@pytest.mark.parametrize("mode", [evaluating, training], ids=["evaluation", "training"])
def test_no_leak_from_later_keys(student, draw, mode):
    # Gradients of one call show a leak even in training, where no call can be repeated.
    attention = mode(student, dropout=0.3 if mode is training else 0.0)
    arguments = inputs(draw, B, queries=S)
    causal = torch.ones(S, S, dtype=torch.bool).tril()

    def call(*tensors):
        return attention(*tensors, mask=causal)

    for place in range(S):

        def only_this_query(output, place=place):
            assert_shape(output, {"B": B, "T": S, "Dv": DV}, "output")
            return torch.zeros_like(output).index_fill_(1, torch.tensor([place]), 1.0)

        _, to_key, to_value = gradients(call, arguments, only_this_query)
        for gradient in (to_key, to_value):
            if gradient is not None and not bool((gradient[:, place + 1 :].abs() <= 1e-7).all()):
                raise CheckFailure("A query's output depends on later keys: the future leaks.")
        seen = to_value is not None and bool((to_value[:, : place + 1] != 0).all())
        if mode is evaluating and not seen:
            raise CheckFailure("A query does not see the keys that it may see.")
    if mode is evaluating:
        # What is detached leaks too, though no gradient tells.
        query, key, value = arguments
        later = key.clone()
        later[:, -1] = draw.normal(*later[:, -1].shape)
        before, after = (call(query, tensor, value)[:, :-1] for tensor in (key, later))
        words = "A query's output depends on later keys: the future leaks."
        assert_close(after, before, "output", message=words)


# -- numbers ---------------------------------------------------------------------------------------


@check(
    "numerics",
    points=1,
    title="Large scores give finite and right results",
    hint="exp(100) is more than float32 holds. What may be subtracted from a row before exp?",
)
@pytest.mark.parametrize("size", [30.0, 300.0])
def test_large_scores(student, reference, draw, size):
    query, key, _ = inputs(draw, B)
    arguments = (query * size, key * size, torch.eye(S).expand(B, S, S))
    weights = evaluating(student)(*arguments)
    assert_finite(weights, "output")
    wanted = evaluating(reference)(*(tensor.double() for tensor in arguments))
    # At such scores the rounding of float32 itself moves a weight by up to about 1e-2.
    assert_close(weights, wanted, "output", tol=(0.0, 5e-2))
    assert_rows_sum_to_one(weights, AXES)


@check(
    "gradient",
    points=2,
    title="In evaluation gradients reach query, key and value, and are right",
    shows="which inputs the gradient reaches",
    hint="Is anything detached, converted to numbers, or computed without grad?",
)
def test_gradients_in_evaluation(student, reference, draw):
    named = dict(zip(("query", "key", "value"), inputs(draw, B, H), strict=True))
    assert_same_gradients(evaluating(student), evaluating(reference), named, draw)


@check(
    "gradient",
    points=1,
    title="With a mask gradients are finite and right too",
    shows="which inputs the gradient reaches",
    hint="What is the gradient of a score that was replaced?",
)
def test_gradients_with_mask(student, reference, draw):
    mask = draw.mask(T, S)

    def call(module):
        attention = evaluating(module)
        return lambda *tensors: attention(*tensors, mask=mask)

    named = dict(zip(("query", "key", "value"), inputs(draw, B, H), strict=True))
    assert_same_gradients(call(student), call(reference), named, draw)


@check(
    "gradient",
    points=1,
    title="In training gradients flow through the surviving weights, and through no dropped one",
    hint="A dropped weight is a constant 0, a survivor is w / (1 - p). What are their gradients?",
)
def test_gradients_in_training(student, draw):
    # What is expected is made of the student's own weights, so that no other mistake shows here.
    rate = 0.4
    query, key, _ = inputs(draw, B, queries=RANDOM_T, keys=RANDOM_S)
    value = twice_the_identity(RANDOM_S).repeat(B, 1, 1)
    cotangent = draw.normal(B, RANDOM_T, 2 * RANDOM_S)
    survived = []

    def picked(output):
        assert_shape(output, {"B": B, "T": RANDOM_T, "2S": 2 * RANDOM_S}, "output")
        survived.append(output.detach()[..., :RANDOM_S] != 0)
        return cotangent

    mine = gradients(training(student, rate), (query, key, value), picked)
    plain = evaluating(student)
    eye = torch.eye(RANDOM_S).expand(B, -1, -1)

    def with_survivors(query, key, value):
        weights = plain(query, key, eye)
        return (weights * survived[0] / (1 - rate)).to(value.dtype) @ value

    theirs = gradients(with_survivors, (query, key, value), lambda _: cotangent)
    for name, got, wanted in zip(("query", "key", "value"), mine, theirs, strict=True):
        if wanted is None:
            continue
        if got is None:
            raise CheckFailure(f"In training no gradient reaches {name}.")
        words = f"In training the gradient of {name} does not fit the weights that survived."
        assert_close(got, wanted, f"gradient of {name}", message=words, tol=(1e-3, 1e-4))


@check(
    "dtype",
    points=2,
    title="The dtype that goes in comes out: float32, float64 and bfloat16, in training too",
    hint="Does a line name a dtype, or make a tensor of its own with the default one?",
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
@pytest.mark.parametrize("masked", [False, True], ids=["no-mask", "mask"])
def test_dtypes(student, draw, dtype, masked):
    # Compared with the student's own float32, so that no other mistake shows here.
    attention, arguments = evaluating(student), inputs(draw, B, dtype=dtype)
    options = {"mask": draw.mask(T, S)} if masked else {}
    output = attention(*arguments, **options)
    assert_dtype(output, dtype, "output")
    assert_dtype(training(student, 0.5)(*arguments, **options), dtype, "output in training")
    single = attention(*(tensor.float() for tensor in arguments), **options)
    words = "The output is another one than for the same numbers in float32."
    assert_close(output, single, "output", message=words, tol=tolerance(dtype))


@check(
    "device",
    points=1,
    title="Runs on whatever device its inputs are on",
    hint="Does a line name a device, or make a tensor without asking its inputs where they are?",
)
@pytest.mark.parametrize("mode", [evaluating, training], ids=["evaluation", "training"])
def test_no_device_of_its_own(student, mode):
    arguments = (torch.empty(B, n, d, device="meta") for n, d in ((T, D), (S, D), (S, DV)))
    output = mode(student, dropout=0.5)(*arguments)
    if output.device.type != "meta":
        raise CheckFailure("Your output is on another device than the inputs.")
    assert_shape(output, [("B", B), ("T", T), ("Dv", DV)], "output")


# -- manners ---------------------------------------------------------------------------------------


@check(
    "purity",
    points=1,
    title="Query, key, value and mask stay as they were",
    hint="Does a line work in place (+=, masked_fill_, div_) on something that came from outside?",
)
@pytest.mark.parametrize("mode", [evaluating, training], ids=["evaluation", "training"])
def test_inputs_untouched(student, draw, mode):
    attention = mode(student, dropout=0.5)
    tensors = (*inputs(draw, B), draw.mask(T, S))
    named = dict(zip(("query", "key", "value", "mask"), tensors, strict=True))
    before = {name: tensor.clone() for name, tensor in named.items()}
    attention(*tensors[:3])
    attention(*tensors[:3], mask=tensors[3])
    assert_unchanged(before, named)


@check(
    "batch",
    points=1,
    title="The items of a batch, and the heads, do not see each other",
    hint="Change one item. May another item's output move?",
)
def test_items_are_independent(student, draw):
    places = ((1, slice(None)), (slice(None), 2))
    assert_items_independent(evaluating(student), inputs(draw, 3, H), draw, places)


@check(
    "layout",
    points=1,
    title="Inputs need not be contiguous in memory",
    hint="view() wants contiguous memory; reshape() does not.",
)
def test_inputs_that_are_not_contiguous(student, draw):
    attention = evaluating(student)
    query = draw.normal(B, T, H, D).transpose(1, 2)
    key = draw.normal(B, S, H, D).transpose(1, 2)
    value = draw.normal(B, H, DV, S).transpose(2, 3)
    expanded = draw.normal(1, H, S, D).expand(B, H, S, D)
    words = "The output depends on how the inputs lie in memory."
    for tensors in ((query, key, value), (query, expanded, value)):
        wanted = attention(*(tensor.contiguous() for tensor in tensors))
        assert_close(attention(*tensors), wanted, "output", message=words)


@check(
    "policy",
    points=2,
    title="Written without F.scaled_dot_product_attention",
    hint="The point here is to write the steps yourself.",
)
def test_written_by_hand(student, draw, forbidden_uses):
    assert_started(lambda: evaluating(student)(*inputs(draw)))
    assert_not_forbidden(forbidden_uses)


# -- probes ----------------------------------------------------------------------------------------

SQUARE = ({"queries": 4, "keys": 4, "width": 3}, {"queries": 5, "keys": 5, "width": 2})
CROSS = ({"queries": 4, "keys": 6, "width": 3}, {"queries": 5, "keys": 3, "width": 4})
LOOKS = ({"rate": 0.3, "keys": 40}, {"rate": 0.6, "keys": 52})


def evaluated(student, draw, queries, keys, width, **options):
    """The output in evaluation, for a batch of 2 and 3 heads."""
    arguments = inputs(draw, 2, 3, queries=queries, keys=keys, width=width, value_width=5)
    return {"output": evaluating(student)(*arguments, **options)}


@probe(*SQUARE)
def probe_square(student, draw, **sizes):
    return evaluated(student, draw, **sizes)


@probe(*CROSS)
def probe_cross(student, draw, **sizes):
    return evaluated(student, draw, **sizes)


@probe({"queries": 3, "keys": 5, "width": 4}, {"queries": 5, "keys": 2, "width": 3})
def probe_no_leading_axes(student, draw, queries, keys, width):
    arguments = inputs(draw, queries=queries, keys=keys, width=width)
    return {"output": evaluating(student)(*arguments)}


@probe(*CROSS)
def probe_masked(student, draw, queries, keys, width):
    mask = draw.mask(2, 3, queries, keys)
    return evaluated(student, draw, queries, keys, width, mask=mask)


@probe(*SQUARE)
def probe_masked_square(student, draw, queries, keys, width):
    mask = draw.mask(queries, keys)
    mask[0, 0], mask[0, 1] = False, True
    return evaluated(student, draw, queries, keys, width, mask=mask)


@probe({**CROSS[0], "below": 3e2}, {**CROSS[1], "below": 1e5})
def probe_allowed_scores_are_low(student, draw, queries, keys, width, below):
    query, key, _ = inputs(draw, queries=queries, keys=keys, width=width)
    query, key = query.abs(), -key.abs() * below
    mask = draw.mask(queries, keys)
    mask[:, 0], mask[:, 1] = False, True
    key[0] = 0.0
    return {"weights": evaluating(student)(query, key, torch.eye(keys), mask=mask)}


@probe(*CROSS)
def probe_large_scores(student, draw, queries, keys, width):
    query, key, _ = inputs(draw, queries=queries, keys=keys, width=width)
    return {"weights": evaluating(student)(query * 20, key * 20, torch.eye(keys))}


@probe(*CROSS)
def probe_gradients(student, draw, queries, keys, width):
    leaves = inputs(draw, 2, 3, queries=queries, keys=keys, width=width)
    leaves = [tensor.requires_grad_() for tensor in leaves]
    output = evaluating(student)(*leaves)
    if not output.requires_grad:
        return {}
    total = (output * draw.normal(*output.shape)).sum()
    found = torch.autograd.grad(total, leaves, allow_unused=True)
    named = zip(("query", "key", "value"), found, strict=True)
    return {name: gradient for name, gradient in named if gradient is not None}


@probe(*CROSS)
def probe_bfloat16(student, draw, queries, keys, width):
    arguments = inputs(draw, 2, queries=queries, keys=keys, width=width, dtype=torch.bfloat16)
    modes = {"evaluation": evaluating(student), "training": training(student, 0.5)}
    # Right answers round at different places; only the dtype is compared.
    return {mode: torch.zeros(1, dtype=f(*arguments).dtype) for mode, f in modes.items()}


@probe(*CROSS)
def probe_meta(student, draw, queries, keys, width):
    arguments = inputs(draw, 2, queries=queries, keys=keys, width=width)
    arguments = [tensor.to("meta") for tensor in arguments]
    modes = {"evaluation": evaluating(student), "training": training(student, 0.5)}
    return {mode: attention(*arguments) for mode, attention in modes.items()}


def look(attention, draw, keys):
    """Numbers that tell how a mode treats equal weights: the same whatever is drawn.

    Every weight is 1 / keys before dropout. Of what comes out: what a survivor is, the share of
    zeros in tenths, and whether zeros come in both copies, in rows, in columns, or once more.
    """
    arguments = torch.ones(400, 2), torch.ones(keys, 2), twice_the_identity(keys)
    shown = attention(*arguments)
    assert_shape(shown, {"T": 400, "2S": 2 * keys}, "output")
    first, second = shown.chunk(2, dim=-1)
    zero = first == 0
    rows, columns = (bool((zero == one).all()) for one in (zero[:, :1], zero[:1]))
    alive = first[~zero] if bool(zero.any()) and not bool(zero.all()) else first.flatten()[:1]
    # What depends on the draw is not told: survivors that differ, the share of few zeros.
    equal = bool(((alive - alive[0]).abs() < 1e-6).all())
    few = rows != columns
    unlike = inputs(draw, queries=keys, keys=keys)
    return {
        "survivor": alive[0] if equal else torch.tensor(-1.0),
        "share": torch.tensor(-1.0) if few else (zero.float().mean() * 10).round(),
        "both": torch.tensor(torch.equal(zero, second == 0)),
        "rows": torch.tensor(rows),
        "columns": torch.tensor(columns),
        "again": torch.tensor(torch.equal(attention(*unlike), attention(*unlike))),
    }


@probe(*LOOKS)
def probe_training(student, draw, rate, keys):
    arguments = inputs(draw, queries=keys, keys=keys)
    one, another = (training(student, rate)(*arguments) for _ in range(2))
    alike = torch.tensor(torch.equal(one, another))
    return {**look(training(student, rate), draw, keys), "alike": alike}


@probe(*LOOKS)
def probe_evaluation(student, draw, rate, keys):
    return look(evaluating(student, rate), draw, keys)


@probe({"rate": 0.0, "keys": 40}, {"rate": 1.0, "keys": 52})
def probe_ends_of_the_range(student, draw, rate, keys):
    return look(training(student, rate), draw, keys)


@probe({"keys": 40}, {"keys": 52})
def probe_default_rate(student, draw, keys):
    return look(student.MaskedScaledDotProductAttention().train(), draw, keys)


@probe({"rate": 0.3}, {"rate": 0.6})
def probe_training_with_leading_axes(student, draw, rate):
    arguments = inputs(draw, 2, 3)
    shown = training(student, rate)(*arguments)
    return {"output": torch.zeros_like(shown)}


@probe({"rate": 0.3}, {"rate": 0.6})
def probe_training_gradients(student, draw, rate):
    # Of two equal keys, either may be dropped: then the gradient prefers the other.
    leaves = [torch.ones(300, 2), torch.ones(2, 2), torch.ones(2, 3)]
    leaves = [leaf.requires_grad_() for leaf in leaves]
    output = training(student, rate)(*leaves)
    if not output.requires_grad:
        return {"learns": torch.tensor(False)}
    _, to_key, to_value = torch.autograd.grad(output.sum(), leaves, allow_unused=True)
    return {
        "step": torch.tensor(-1.0) if to_value is None else to_value.sum() / output.detach().sum(),
        "learns": torch.tensor(to_key is not None and bool((to_key != 0).any())),
    }
