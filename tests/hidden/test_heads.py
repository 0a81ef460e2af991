"""Hidden suite of `heads`.

Entries carry labels that say where they came from, so that each one can be found again. Every size
is distinct, so that no axis can stand in for another: B 2, H 3, T 5, D 4, C 12.
"""

import pytest
import torch

from grader.suite import (
    CheckFailure,
    WrongShape,
    assert_dtype,
    assert_raises,
    assert_same_gradients,
    assert_shape,
    assert_unchanged,
    check,
    probe,
)

B, H, T, D = 2, 3, 5, 4
C = H * D
SPLIT = "splitting four tokens of width 6 into two heads"
MERGE = "merging two heads of width 3"
SIZES = {
    "plain": (B, H, T, D),
    "as many heads as tokens": (2, 3, 3, 5),
    "as many heads as columns": (3, 4, 2, 4),
    "as many heads as items": (3, 3, 4, 2),
}


def labelled(batch, length, width):
    """Tokens (B, T, C) whose entries name their item, token and column."""
    items = torch.arange(batch).view(-1, 1, 1) * 10_000
    tokens = torch.arange(length).view(-1, 1) * 100
    return (items + tokens + torch.arange(width)).float()


def by_hand(tokens, num_heads):
    """The heads (B, H, T, D) of ``tokens``, column block by column block."""
    return torch.stack(tokens.chunk(num_heads, dim=2), dim=1)


def assert_in_place(actual, expected, what):
    """Every label is where it should be."""
    if actual.shape != expected.shape:
        raise WrongShape(
            f"The shape of your {what} is not the expected one.",
            f"expected {tuple(expected.shape)}, got {tuple(actual.shape)}",
        )
    got, wanted = actual.detach().double(), expected.double()
    if torch.equal(got, wanted):
        return
    if not torch.equal(got.flatten().sort().values, wanted.flatten().sort().values):
        raise CheckFailure(f"Your {what} hold other numbers than the input; nothing may be lost.")
    for divisor, words in (
        (10_000, "from one item of the batch end up in another"),
        (100, "of one token end up at the place of another"),
    ):
        if not torch.equal(got // divisor, wanted // divisor):
            raise CheckFailure(f"In your {what}, numbers {words}.")
    raise CheckFailure(f"In your {what} the columns of a token are in the wrong place.")


# -- shape -----------------------------------------------------------------------------------------


@check(
    "shape",
    points=3,
    title="Split heads are (B, H, T, D)",
    hint="Which axis has to come right after the batch, so that each head has a matrix (T, D)?",
    shows=SPLIT,
)
@pytest.mark.parametrize(
    ("batch", "heads", "length", "width"), [(B, H, T, D), (3, 2, 7, 5), (5, 4, 2, 1)], ids=str
)
def test_split_shape(student, draw, batch, heads, length, width):
    split = student.split_heads(draw.normal(batch, length, heads * width), heads)
    assert_shape(split, [("B", batch), ("H", heads), ("T", length), ("D", width)], "heads")


@check(
    "shape",
    points=2,
    title="Merged heads are (B, T, C)",
    hint="How many axes remain, and how wide is the last?",
    shows=MERGE,
)
@pytest.mark.parametrize(
    ("batch", "heads", "length", "width"), [(B, H, T, D), (3, 2, 7, 5), (5, 4, 2, 1)], ids=str
)
def test_merge_shape(student, draw, batch, heads, length, width):
    merged = student.merge_heads(draw.normal(batch, heads, length, width))
    assert_shape(merged, [("B", batch), ("T", length), ("C", heads * width)], "merged heads")


@check(
    "shape",
    points=2,
    title="Axes of size 1 stay: one item, one head, one token, one column",
    hint="Does something drop axes of size 1, such as squeeze()?",
)
@pytest.mark.parametrize(
    "sizes", [(1, 2, 3, 4), (3, 1, 4, 2), (2, 3, 1, 4), (2, 4, 3, 1), (1, 1, 1, 1)], ids=str
)
def test_axes_of_size_one(student, sizes):
    batch, heads, length, width = sizes
    tokens = labelled(batch, length, heads * width)
    split = student.split_heads(tokens, heads)
    assert_shape(split, [("B", batch), ("H", heads), ("T", length), ("D", width)], "heads")
    merged = student.merge_heads(by_hand(tokens, heads))
    assert_shape(merged, [("B", batch), ("T", length), ("C", heads * width)], "merged heads")


# -- which number goes where -----------------------------------------------------------------------


@check(
    "heads",
    points=5,
    title="Head h holds columns hD to (h+1)D of every token",
    hint="Cut the columns into blocks first. Only then move the axis of the heads.",
    shows=SPLIT,
)
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_split_columns(student, sizes):
    batch, heads, length, width = sizes
    tokens = labelled(batch, length, heads * width)
    split = student.split_heads(tokens, heads)
    assert_shape(split, [("B", batch), ("H", heads), ("T", length), ("D", width)], "heads")
    dealt = tokens.view(batch, length, width, heads).permute(0, 3, 1, 2)
    if min(heads, width) > 1 and torch.equal(split, dealt):
        raise CheckFailure(
            "Your heads take the columns in turn, like cards that are dealt; each head has to hold "
            "neighbouring columns."
        )
    assert_in_place(split, by_hand(tokens, heads), "heads")


@check(
    "heads",
    points=3,
    title="The same tokens can be split into any number of heads that divides their width",
    hint="Is the number of heads, or their width, fixed somewhere in your code?",
    shows=SPLIT,
)
@pytest.mark.parametrize("heads", [2, 4, 6])
def test_any_number_of_heads(student, heads):
    tokens = labelled(B, T, C)
    assert_in_place(student.split_heads(tokens, heads), by_hand(tokens, heads), "heads")


@check(
    "heads",
    points=5,
    title="Merging puts the columns of head h at hD to (h+1)D of the token they came from",
    hint="Move the axis of the heads next to their columns first. Only then join the two.",
    shows=MERGE,
)
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_merge_columns(student, sizes):
    batch, heads, length, width = sizes
    tokens = labelled(batch, length, heads * width)
    merged = student.merge_heads(by_hand(tokens, heads).contiguous())
    assert_shape(merged, [("B", batch), ("T", length), ("C", heads * width)], "merged heads")
    dealt = tokens.view(batch, length, heads, width).transpose(2, 3).reshape(tokens.shape)
    if min(heads, width) > 1 and torch.equal(merged, dealt):
        raise CheckFailure(
            "Your merged tokens take one column of each head in turn; the columns of one head have "
            "to stay together."
        )
    assert_in_place(merged, tokens, "merged heads")


@check(
    "values",
    points=3,
    title="Merging undoes splitting, and splitting undoes merging",
    hint="Do the two functions make the same steps, in opposite order?",
)
@pytest.mark.parametrize("sizes", [(B, H, T, D), (3, 2, 4, 7), (4, 5, 6, 2)], ids=str)
def test_round_trip(student, draw, sizes):
    batch, heads, length, width = sizes
    tokens = draw.normal(batch, length, heads * width)
    merged = student.merge_heads(student.split_heads(tokens.clone(), heads))
    if not torch.equal(merged, tokens):
        raise CheckFailure("Splitting and then merging does not give the tokens back.")
    split = draw.normal(batch, heads, length, width)
    again = student.split_heads(student.merge_heads(split.clone()), heads)
    if not torch.equal(again, split):
        raise CheckFailure("Merging and then splitting does not give the heads back.")


@check(
    "causal-leak",
    points=3,
    title="A token's numbers stay at its own position, in every head and back",
    hint="Change one token. At which positions may the heads change?",
    shows=SPLIT,
)
@pytest.mark.parametrize("place", [0, 2, T - 1])
def test_tokens_stay_apart(student, draw, place):
    words = "Numbers of one token turn up at the position of another: heads would see the future."
    others = [token for token in range(T) if token != place]
    tokens = draw.normal(B, T, C)
    changed = tokens.clone()
    changed[:, place] += 1
    before, after = student.split_heads(tokens, H), student.split_heads(changed, H)
    assert_shape(after, [("B", B), ("H", H), ("T", T), ("D", D)], "heads")
    if not torch.equal(before[:, :, others], after[:, :, others]):
        raise CheckFailure(words)
    split = draw.normal(B, H, T, D)
    changed = split.clone()
    changed[:, :, place] += 1
    before, after = student.merge_heads(split), student.merge_heads(changed)
    assert_shape(after, [("B", B), ("T", T), ("C", C)], "merged heads")
    if not torch.equal(before[:, others], after[:, others]):
        raise CheckFailure(words)


@check(
    "batch",
    points=2,
    title="The items of a batch do not mix",
    hint="Change one item. May another item's heads change?",
)
def test_items_stay_apart(student, draw):
    words = "Numbers of one item of the batch turn up in another."
    for place in range(3):
        others = [item for item in range(3) if item != place]
        tokens, split = draw.normal(3, T, C), draw.normal(3, H, T, D)
        results = []
        for _ in range(2):
            heads = student.split_heads(tokens.clone(), H)
            merged = student.merge_heads(split.clone())
            assert_shape(heads, [("B", 3), ("H", H), ("T", T), ("D", D)], "heads")
            assert_shape(merged, [("B", 3), ("T", T), ("C", C)], "merged heads")
            results.append((heads[others], merged[others]))
            tokens, split = tokens.clone(), split.clone()
            tokens[place] += 1
            split[place] += 1
        if not all(torch.equal(*pair) for pair in zip(*results, strict=True)):
            raise CheckFailure(words)


# -- errors ----------------------------------------------------------------------------------------


@check(
    "errors",
    points=3,
    title="A width that the heads cannot share evenly raises ValueError or AssertionError",
    hint="What should split_heads ask before it does anything? 12 columns, 5 heads.",
)
@pytest.mark.parametrize(("width", "heads"), [(12, 5), (7, 2), (4, 8), (15, 10)], ids=str)
def test_width_that_does_not_divide(student, draw, width, heads):
    with assert_raises(ValueError, AssertionError, when="the width cannot be divided by H"):
        student.split_heads(draw.normal(B, T, width), heads)


# -- numbers ---------------------------------------------------------------------------------------


@check(
    "dtype",
    points=2,
    title="The dtype stays: float32, float64 and bfloat16",
    hint="Does a line name a dtype, or make a tensor of its own with the default one?",
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16], ids=str)
def test_dtype(student, draw, dtype):
    tokens = draw.normal(B, T, C, dtype=dtype)
    split = student.split_heads(tokens, H)
    assert_dtype(split, dtype, "heads")
    merged = student.merge_heads(draw.normal(B, H, T, D, dtype=dtype))
    assert_dtype(merged, dtype, "merged heads")


@check(
    "device",
    points=1,
    title="Runs on whatever device its inputs are on",
    hint="Does a line name a device, or make a tensor without asking its inputs where they are?",
)
def test_no_device_of_its_own(student):
    split = student.split_heads(torch.empty(B, T, C, device="meta"), H)
    merged = student.merge_heads(torch.empty(B, H, T, D, device="meta"))
    if split.device.type != "meta" or merged.device.type != "meta":
        raise CheckFailure("Your results are on another device than the inputs.")


@check(
    "gradient",
    points=2,
    title="Gradients flow back through splitting",
    hint="Is anything detached, converted to numbers, or computed without grad?",
)
def test_gradients_of_split(student, reference, draw):
    def call(module):
        return lambda x: module.split_heads(x, H)

    named = {"the tokens": draw.normal(B, T, C)}
    assert_same_gradients(call(student), call(reference), named, draw)


@check(
    "gradient",
    points=2,
    title="Gradients flow back through merging",
    hint="Is anything detached, converted to numbers, or computed without grad?",
)
def test_gradients_of_merge(student, reference, draw):
    named = {"the heads": draw.normal(B, H, T, D)}
    assert_same_gradients(student.merge_heads, reference.merge_heads, named, draw)


# -- manners ---------------------------------------------------------------------------------------


@check(
    "layout",
    points=2,
    title="Tokens to be split need not be contiguous in memory",
    hint="view() wants memory laid out as it needs it; reshape() does not.",
)
@pytest.mark.parametrize("kind", ["tokens-first", "columns-first", "every-second", "expanded"])
def test_split_of_non_contiguous(student, kind):
    tokens = labelled(B, T, C)
    if kind == "tokens-first":
        tokens = tokens.transpose(0, 1).contiguous().transpose(0, 1)
    elif kind == "columns-first":
        tokens = tokens.transpose(1, 2).contiguous().transpose(1, 2)
    elif kind == "every-second":
        tokens = labelled(B, T, 2 * C)[:, :, 1::2]
    else:
        tokens = labelled(1, T, C).expand(B, T, C)
    assert_in_place(student.split_heads(tokens, H), by_hand(tokens, H), "heads")


@check(
    "layout",
    points=3,
    title="Heads to be merged may lie in memory in any way",
    hint="view() wants memory laid out as it needs it. After a transpose, is it?",
    shows=MERGE,
)
@pytest.mark.parametrize("kind", ["contiguous", "tokens-first", "columns-first", "sliced"])
def test_merge_of_any_layout(student, kind):
    tokens = labelled(B, T, C)
    split = by_hand(tokens, H).contiguous()
    if kind == "tokens-first":
        split = split.transpose(1, 2).contiguous().transpose(1, 2)
    elif kind == "columns-first":
        split = split.transpose(2, 3).contiguous().transpose(2, 3)
    elif kind == "sliced":
        split = torch.cat([split, split], dim=3)[..., D:]
    assert_in_place(student.merge_heads(split), tokens, "merged heads")


@check(
    "purity",
    points=2,
    title="Tokens and heads stay as they were",
    hint="Does a line work in place, with an underscore at the end of its name?",
)
def test_inputs_untouched(student, draw):
    named = {"x": draw.normal(B, T, C)}
    before = {name: tensor.clone() for name, tensor in named.items()}
    student.split_heads(named["x"], H)
    assert_unchanged(before, named)
    named = {"x": draw.normal(B, H, T, D)}
    before = {name: tensor.clone() for name, tensor in named.items()}
    student.merge_heads(named["x"])
    assert_unchanged(before, named)


# -- probes ----------------------------------------------------------------------------------------

ALL_DISTINCT = (
    {"batch": 2, "heads": 3, "length": 5, "width": 4},
    {"batch": 3, "heads": 2, "length": 4, "width": 5},
)
"""The width is that of one head."""


@probe(*ALL_DISTINCT)
def probe_split(student, draw, batch, heads, length, width):
    return {"heads": student.split_heads(draw.normal(batch, length, heads * width), heads)}


@probe(*ALL_DISTINCT)
def probe_merge(student, draw, batch, heads, length, width):
    return {"merged": student.merge_heads(draw.normal(batch, heads, length, width))}


@probe(*ALL_DISTINCT)
def probe_merge_of_split(student, draw, batch, heads, length, width):
    split = draw.normal(batch, length, heads, width).transpose(1, 2)
    return {"merged": student.merge_heads(split)}


@probe({"heads": 3, "width": 8}, {"heads": 5, "width": 12})
def probe_width_that_does_not_divide(student, draw, heads, width):
    return _refusal(student, draw.normal(2, 4, width), heads)


@probe({"heads": 8, "width": 4}, {"heads": 6, "width": 3})
def probe_more_heads_than_columns(student, draw, heads, width):
    return _refusal(student, draw.normal(2, 5, width), heads)


@probe({"length": 1, "heads": 3}, {"length": 4, "heads": 1})
def probe_axes_of_size_one(student, draw, length, heads):
    split = student.split_heads(draw.normal(1, length, heads * 2), heads)
    return {"heads": split, "merged": student.merge_heads(draw.normal(1, heads, length, 2))}


@probe(*ALL_DISTINCT)
def probe_float64(student, draw, batch, heads, length, width):
    tokens = draw.normal(batch, length, heads * width, dtype=torch.float64)
    split = draw.normal(batch, heads, length, width, dtype=torch.float64)
    return {"heads": student.split_heads(tokens, heads), "merged": student.merge_heads(split)}


@probe(*ALL_DISTINCT)
def probe_device(student, draw, batch, heads, length, width):
    tokens = torch.empty(batch, length, heads * width, device="meta")
    split = torch.empty(batch, heads, length, width, device="meta")
    return {"heads": student.split_heads(tokens, heads), "merged": student.merge_heads(split)}


@probe(*ALL_DISTINCT)
def probe_gradient_of_split(student, draw, batch, heads, length, width):
    tokens = draw.normal(batch, length, heads * width, requires_grad=True)
    return _gradient(lambda: student.split_heads(tokens, heads), tokens, draw)


@probe(*ALL_DISTINCT)
def probe_gradient_of_merge(student, draw, batch, heads, length, width):
    split = draw.normal(batch, heads, length, width, requires_grad=True)
    return _gradient(lambda: student.merge_heads(split), split, draw)


@probe(*ALL_DISTINCT)
def probe_inputs_afterwards(student, draw, batch, heads, length, width):
    tokens = draw.normal(batch, length, heads * width)
    split = draw.normal(batch, heads, length, width)
    student.split_heads(tokens, heads)
    student.merge_heads(split)
    return {"tokens": tokens, "heads": split}


def _refusal(student, tokens, heads):
    """What comes out where an error is due; one declared error is as good as the other."""
    try:
        return {"heads": student.split_heads(tokens, heads)}
    except (ValueError, AssertionError):
        return {}


def _gradient(call, leaf, draw):
    """The gradient of ``leaf``; nothing where there is none, or autograd refused."""
    try:
        result = call()
    except RuntimeError:
        return {}
    if not result.requires_grad:
        return {}
    total = (result * draw.normal(*result.shape)).sum()
    return {"gradient": torch.autograd.grad(total, leaf)[0]}
