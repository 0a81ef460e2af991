"""Hidden suite of `masks`.

Every size is distinct, so that no axis can stand in for another: B 3, H 2, T 5, S 8.
"""

import pytest
import torch

from grader.suite import (
    CheckFailure,
    StudentError,
    WrongShape,
    assert_shape,
    assert_unchanged,
    check,
    probe,
)

B, H, T, S = 3, 2, 5, 8
LENGTHS = (6, 1, 8, 3)

CAUSAL = "causal mask"
PADDING = "padding mask"
COMBINED = "combined mask"
SEES_FUTURE = "A query is allowed a key that comes after its own position: the future leaks."
TOO_STRICT = "A query is not allowed every key up to its own position."


def causal(student, queries, keys, offset=0):
    """The student's causal mask, checked to be (T, S)."""
    options = {"key_length": keys} | ({"query_offset": offset} if offset else {})
    mask = student.causal_mask(queries, **options)
    assert_shape(mask, [("T", queries), ("S", keys)], CAUSAL)
    return mask


def padding(student, lengths, max_length, dtype=torch.int64):
    """The student's padding mask of ``lengths``, checked to be (B, S)."""
    mask = student.padding_mask(torch.tensor(lengths, dtype=dtype), max_length)
    assert_shape(mask, [("B", len(lengths)), ("S", max_length)], PADDING)
    return mask


def some_masks(draw, *shapes, allowed=0.8):
    """A mask of each shape, all of which allow the first key, so that no row ends up empty."""
    masks = [draw.mask(*shape, allowed=allowed) for shape in shapes]
    for mask in masks:
        mask[..., 0] = True
    return masks


def combine(student, *masks):
    """The student's combined mask; a code that does not take so many masks is told so."""
    try:
        return student.combine_masks(*masks)
    except StudentError as error:
        if error.raised.kind != "signature":
            raise
        raise CheckFailure(
            "combine_masks has to accept one mask, two, three or more, each an argument of its own."
        ) from None


def assert_bool(mask, what):
    """``mask`` is a bool tensor."""
    if mask.dtype != torch.bool:
        raise CheckFailure(f"Your {what} has to be bool; yours has another dtype.", f"{mask.dtype}")


def assert_mask(mask, expected, what, words):
    """``mask`` allows what ``expected`` allows; numbers 1 and 0 are as good as True and False."""
    if mask.shape != expected.shape:
        raise WrongShape(
            f"The shape of your {what} is not the expected one.",
            f"expected {tuple(expected.shape)}, got {tuple(mask.shape)}",
        )
    allowed, blocked = mask == 1, mask == 0
    if torch.equal(allowed, expected) and torch.equal(blocked, ~expected):
        return
    if torch.equal(allowed, ~expected) and torch.equal(blocked, expected):
        raise CheckFailure(f"Your {what} is inverted: here True means allowed.")
    if not bool((allowed | blocked).all()):
        raise CheckFailure(f"Your {what} holds something other than True and False.")
    wrong = int((allowed != expected).sum())
    raise CheckFailure(words, f"{wrong} of {mask.numel()} entries differ")


def assert_causal(mask, offset=0):
    """``mask`` (T, S) allows key j for query i exactly where j <= i + offset."""
    queries, keys = mask.shape
    distance = torch.arange(keys) - torch.arange(queries).unsqueeze(1) - offset
    expected = distance <= 0
    allowed = mask == 1
    leaks = bool((allowed & (distance > 0)).any())
    strict = bool((~allowed & (distance <= 0)).any())
    words = "A query's row does not end at its own position."
    if leaks and not strict:
        words = SEES_FUTURE
    elif strict and not leaks:
        words = TOO_STRICT
    if torch.equal(allowed, distance < 0):
        words = "A query is not allowed its own position; it has to be."
    elif torch.equal(allowed, distance <= 1):
        words = "A query is allowed the key right after its own position: the future leaks."
    elif torch.equal(allowed, distance >= 0):
        words = "Your causal mask is turned round: queries see the keys after them, not before."
    assert_mask(mask, expected, CAUSAL, words)


# -- causal_mask -----------------------------------------------------------------------------------


@check(
    "shape",
    points=2,
    title="The causal mask is (T, S): a row a query, a column a key",
    hint="Which argument counts the rows, and which the columns? What if the second is left out?",
)
@pytest.mark.parametrize(
    ("queries", "keys", "offset"),
    [(T, None, 0), (T, S, 0), (S, T, 0), (2, 7, 5), (1, 6, 5), (4, 1, 0), (1, 1, 0)],
    ids=["square", "more-keys", "more-queries", "offset", "one-query", "one-key", "one-by-one"],
)
def test_causal_shape(student, queries, keys, offset):
    options = {} if keys is None else {"key_length": keys}
    options |= {"query_offset": offset} if offset else {}
    mask = student.causal_mask(queries, **options)
    assert_shape(mask, [("T", queries), ("S", keys or queries)], CAUSAL)


@check(
    "causal-leak",
    points=3,
    title="No query is allowed a key after its own position",
    hint="May the first query see the second key? Look at that one entry.",
    shows="a causal mask for three queries and four keys",
)
@pytest.mark.parametrize(
    ("queries", "keys", "offset"),
    [(T, T, 0), (T, S, 0), (S, T, 0), (2, S, 4), (1, S, 3), (1, T, 0)],
    ids=["square", "more-keys", "more-queries", "offset", "one-query", "first-query"],
)
def test_no_later_key(student, queries, keys, offset):
    allowed = causal(student, queries, keys, offset) == 1
    later = torch.arange(keys) > torch.arange(queries).unsqueeze(1) + offset
    if bool((allowed & later).any()):
        raise CheckFailure(SEES_FUTURE)
    if queries > 1 and not bool(allowed.any()):
        raise CheckFailure("Your causal mask allows nothing at all.")


@check(
    "values",
    points=3,
    title="Every query is allowed its own position and all before it, and nothing else",
    hint="What are the first row and the diagonal of your mask?",
    shows="a causal mask for three queries and four keys",
)
def test_square_causal(student, draw):
    length = int(draw.integers(4, 12, 1))
    mask = student.causal_mask(length)
    assert_shape(mask, [("T", length), ("S", length)], CAUSAL)
    assert_causal(mask)


@check(
    "positions",
    points=2,
    title="Without an offset query 0 stands at key 0, also where T and S differ",
    hint="With 5 queries, 8 keys and no offset: how many keys does the first query see?",
    shows="a causal mask for three queries and four keys",
)
@pytest.mark.parametrize(("queries", "keys"), [(T, S), (S, T), (1, T), (T, 1)], ids=str)
def test_aligned_at_the_first_key(student, queries, keys):
    mask = causal(student, queries, keys)
    offset = keys - queries
    bottom_right = torch.arange(keys) <= torch.arange(queries).unsqueeze(1) + offset
    if torch.equal(mask == 1, bottom_right):
        raise CheckFailure(
            "Your last query stands at the last key; without an offset the first query stands at "
            "the first key."
        )
    assert_causal(mask)


@check(
    "positions",
    points=4,
    title="Query i stands at position i + query_offset: key j is allowed when j <= i + offset",
    hint="After 3 cached tokens, which position has the first new query?",
    shows="two queries after three cached tokens",
)
@pytest.mark.parametrize(
    ("queries", "keys", "offset"),
    [(2, 7, 5), (3, S, 2), (T, 9, 1), (1, S, S - 1), (4, 6, 9), (S, T, 3)],
    ids=["last-two", "in-the-middle", "one", "last-one", "beyond-the-keys", "more-queries"],
)
def test_offset(student, queries, keys, offset):
    assert_causal(causal(student, queries, keys, offset), offset)


@check(
    "positions",
    points=2,
    title="The masks of consecutive chunks, one below the other, are the mask of the whole",
    hint="How many tokens came before the second chunk, and where does its first query stand?",
    shows="two queries after three cached tokens",
)
@pytest.mark.parametrize("sizes", [(3, 1, 4), (1, 2, 5), (6, 2)], ids=str)
def test_chunks(student, sizes):
    total, before, rows = sum(sizes), 0, []
    for size in sizes:
        rows.append(causal(student, size, total, before))
        before += size
    assert_causal(torch.cat([row.to(rows[0].dtype) for row in rows]))


@check(
    "positions",
    points=1,
    title="A negative offset puts queries before the first key; their rows are all False",
    hint="Where does query 0 stand when the offset is -2, and which keys are not after it?",
)
@pytest.mark.parametrize(("queries", "keys", "offset"), [(T, S, -2), (3, 4, -3)], ids=str)
def test_negative_offset(student, queries, keys, offset):
    assert_causal(causal(student, queries, keys, offset), offset)


@check(
    "values",
    points=1,
    title="Long sequences get a mask of their full length",
    hint="Is there a largest length in your code?",
)
@pytest.mark.parametrize(
    ("queries", "keys", "offset"), [(3, 5000, 4500), (5000, 3, 0)], ids=["keys", "queries"]
)
def test_long(student, queries, keys, offset):
    assert_causal(causal(student, queries, keys, offset), offset)


# -- padding_mask ----------------------------------------------------------------------------------


@check(
    "shape",
    points=2,
    title="The padding mask is (B, max_length), even if no sequence is that long",
    hint="Which argument counts the rows, and which the columns?",
)
@pytest.mark.parametrize(
    ("lengths", "max_length"),
    [((6, 2, 3), 8), ((2, 4, 1, 3, 1), 4), ((3,), 7), ((1, 1), 1)],
    ids=["shorter", "more-sequences", "one-sequence", "one-place"],
)
def test_padding_shape(student, lengths, max_length):
    padding(student, lengths, max_length)


@check(
    "mask",
    points=4,
    title="Of each sequence the first `length` keys are allowed and the padding after them is not",
    hint="A sequence of length 3 fills places 0, 1 and 2. What is your mask at places 2 and 3?",
    shows="sequences of 3 and 1 tokens, padded to 4",
)
def test_padding_meaning(student):
    mask = padding(student, LENGTHS, S)
    lengths = torch.tensor(LENGTHS).unsqueeze(1)
    places, allowed = torch.arange(S), mask == 1
    words = "Your padding mask does not allow exactly the first `length` keys of each sequence."
    if torch.equal(allowed, places <= lengths):
        words = "Your padding mask allows one key too many: the first place of the padding."
    elif torch.equal(allowed, places < lengths - 1):
        words = "Your padding mask blocks the last token of each sequence."
    elif torch.equal(allowed, places >= S - lengths):
        words = "Your padding mask has the padding on the left; here it comes after the tokens."
    assert_mask(mask, places < lengths, PADDING, words)


@check(
    "mask",
    points=2,
    title="Length 0 gives a row of False and full length a row of True; neither is an error",
    hint="Does your code treat a short or a full sequence as something special?",
)
@pytest.mark.parametrize("lengths", [(0, S), (0, 0, 0), (S, S), (0,)], ids=str)
def test_empty_and_full(student, lengths):
    expected = torch.tensor(lengths).bool().unsqueeze(1).expand(-1, S)
    words = "A sequence without tokens, or without padding, does not get the row it should."
    assert_mask(padding(student, lengths, S), expected, PADDING, words)


@check(
    "batch",
    points=2,
    title="Each sequence has its own length, whatever the others' are",
    hint="Change one length. Which rows of your mask may change?",
    shows="sequences of 3 and 1 tokens, padded to 4",
)
def test_lengths_are_independent(student, draw):
    lengths = [1 + int(n) for n in draw.permutation(S)[:B]]
    before = padding(student, lengths, S)
    for changed in range(B):
        others = [row for row in range(B) if row != changed]
        another = [*lengths]
        another[changed] = 1 + (lengths[changed] + 2) % S
        after = padding(student, another, S)
        if not torch.equal(after[others], before[others]):
            raise CheckFailure("The row of one sequence depends on the length of another.")
        if torch.equal(after[changed], before[changed]):
            raise CheckFailure("The row of a sequence does not depend on its own length.")


@check(
    "values",
    points=2,
    title="Padding masks are right for any lengths, in any integer dtype",
    hint="Which entries are True for a sequence of length 1, 2, and max_length?",
)
@pytest.mark.parametrize("dtype", [torch.int64, torch.int32], ids=["int64", "int32"])
def test_padding_values(student, draw, dtype):
    max_length = int(draw.integers(6, 12, 1))
    lengths = draw.integers(1, max_length + 1, T).tolist()
    expected = torch.arange(max_length) < torch.tensor(lengths).unsqueeze(1)
    words = "Your padding mask does not allow exactly the first `length` keys of each sequence."
    assert_mask(padding(student, lengths, max_length, dtype), expected, PADDING, words)


# -- combine_masks ---------------------------------------------------------------------------------


@check(
    "values",
    points=3,
    title="Combined, a key is allowed where both masks allow it, and nowhere else",
    hint="There are four cases: both allow, only the first, only the second, neither.",
    shows="a causal and a padding mask together",
)
def test_truth_table(student):
    first = torch.tensor([True, True, False, False])
    second = torch.tensor([True, False, True, False])
    mask = student.combine_masks(first, second)
    assert_shape(mask, {"S": 4}, COMBINED)
    words = "A key has to be allowed exactly where both masks allow it."
    if torch.equal(mask == 1, first | second):
        words = "A key is allowed as soon as one mask allows it: that is OR."
    elif torch.equal(mask == 1, first ^ second):
        words = "A key is allowed when exactly one mask allows it: that is XOR."
    elif torch.equal(mask == 1, first):
        words = "Only the first of your masks counts."
    elif torch.equal(mask == 1, second):
        words = "Only the last of your masks counts."
    assert_mask(mask, first & second, COMBINED, words)


@check(
    "values",
    points=3,
    title="Any number of masks can be combined: one, three, five",
    hint="Does your code use every mask it is given? And what if it is given only one?",
)
@pytest.mark.parametrize("count", [1, 3, 5])
def test_any_number(student, reference, draw, count):
    masks = some_masks(draw, *[(T, S)] * count)
    mask = combine(student, *masks)
    assert_shape(mask, [("T", T), ("S", S)], COMBINED)
    words = "With this number of masks, a key is not allowed exactly where all of them allow it."
    assert_mask(mask, reference.combine_masks(*masks), COMBINED, words)
    for blocking in range(count):
        everything = [torch.ones(T, S, dtype=torch.bool) for _ in masks]
        everything[blocking] = masks[0]
        words = "What one of the masks blocks is still allowed in the combined mask."
        assert_mask(combine(student, *everything), masks[0], COMBINED, words)


@check(
    "shape",
    points=3,
    title="Masks broadcast together by PyTorch's own rule, and are not lifted by any other",
    hint="Shapes are compared from the last axis on. Is any axis added that nobody asked for?",
)
@pytest.mark.parametrize(
    "shapes",
    [
        ((T, S), (B, 1, 1, S)),
        ((B, 1, 1, S), (T, S)),
        ((T, S), (B, 1, S)),
        ((S,), (T, S)),
        ((T, 1), (S,)),
        ((B, 1, 1, S), (T, S), (B, H, T, S)),
        ((1, H, 1, 1), (B, 1, T, S)),
        ((B, T), (S, B, T), (1, 1)),
        ((1,), (1, 1)),
    ],
    ids=str,
)
def test_broadcast(student, reference, draw, shapes):
    masks = some_masks(draw, *shapes)
    expected = reference.combine_masks(*masks)
    mask = student.combine_masks(*masks)
    if mask.shape != expected.shape:
        raise WrongShape(
            "Your combined mask does not have the shape that the masks broadcast to.",
            f"expected {tuple(expected.shape)}, got {tuple(mask.shape)}",
        )
    words = "Broadcast masks are not combined entry by entry."
    assert_mask(mask, expected, COMBINED, words)


@check(
    "mask",
    points=2,
    title="A query that ends up with no key keeps its row of False; that is no error here",
    hint="Whose business is it to complain about such a row: the mask's, or the attention's?",
)
@pytest.mark.parametrize("case", ["one-row", "every-row", "given-so", "blocked-query"])
def test_empty_rows(student, draw, case):
    first, second = draw.mask(T, S), torch.ones(T, S, dtype=torch.bool)
    if case == "one-row":
        second[2] = ~first[2]
    elif case == "every-row":
        second = ~first
    elif case == "given-so":
        first[1] = False
    else:
        second = torch.tensor([[True], [False], [True], [True], [False]])
    mask = student.combine_masks(first.clone(), second.clone())
    words = "A row in which nothing is allowed does not stay as it is."
    assert_mask(mask, first & second, COMBINED, words)


@check(
    "layout",
    points=1,
    title="Masks need not be contiguous in memory",
    hint="view() wants contiguous memory; do you need it at all?",
)
def test_masks_that_are_not_contiguous(student, draw):
    first, second, third = some_masks(draw, (S, T), (1, S), (T, 2 * S))
    first[0] = True
    first, second, third = first.transpose(0, 1), second.expand(T, S), third[:, ::2]
    words = "Transposed, expanded or sliced masks are not combined entry by entry."
    mask = student.combine_masks(first, second, third)
    assert_mask(mask, first & second & third, COMBINED, words)


@check(
    "device",
    points=1,
    title="Masks are combined on the device they are on",
    hint="Do you make a tensor of your own without asking the masks where they are?",
)
def test_no_device_of_its_own(student):
    first = torch.ones(B, T, S, dtype=torch.bool, device="meta")
    second = torch.ones(T, S, dtype=torch.bool, device="meta")
    mask = student.combine_masks(first, second)
    if mask.device.type != "meta":
        raise CheckFailure("Your combined mask is on another device than the masks.")
    assert_shape(mask, [("B", B), ("T", T), ("S", S)], COMBINED)


# -- all three -------------------------------------------------------------------------------------


@check(
    "dtype",
    points=3,
    title="Every mask is bool",
    hint="What does a comparison of two tensors give, before anything is done with it?",
)
@pytest.mark.parametrize("kind", [CAUSAL, PADDING, COMBINED])
def test_bool(student, draw, kind):
    if kind == CAUSAL:
        assert_bool(student.causal_mask(T), kind)
        assert_bool(student.causal_mask(2, key_length=S, query_offset=3), kind)
    elif kind == PADDING:
        assert_bool(student.padding_mask(torch.tensor(LENGTHS), S), kind)
    else:
        assert_bool(student.combine_masks(*some_masks(draw, (T, S), (T, S))), kind)


@check(
    "purity",
    points=2,
    title="Lengths and masks stay as they were",
    hint="Does a line work in place (&=, sub_, logical_and_) on something that came from outside?",
)
@pytest.mark.parametrize("kind", ["lengths", "masks", "broadcast-masks"])
def test_arguments_untouched(student, draw, kind):
    if kind == "lengths":
        named = {"lengths": torch.tensor(LENGTHS)}
    else:
        shapes = [(T, S)] * 3 if kind == "masks" else [(B, T, S), (T, S), (1, S)]
        masks = some_masks(draw, *shapes)
        named = {f"mask {number}": mask for number, mask in enumerate(masks, start=1)}
    before = {name: tensor.clone() for name, tensor in named.items()}
    if kind == "lengths":
        student.padding_mask(named["lengths"], S)
    else:
        student.combine_masks(*named.values())
    assert_unchanged(before, named)


# -- probes ----------------------------------------------------------------------------------------

CROSS = (
    {"queries": 5, "keys": 8},
    {"queries": 3, "keys": 7},
)
PLACES = (
    {"lengths": (6, 2, 5), "places": 8},
    {"lengths": (1, 4, 3, 5, 2), "places": 6},
)


@probe({"length": 5}, {"length": 7})
def probe_square(student, draw, length):
    return {"mask": student.causal_mask(length)}


@probe(*CROSS)
def probe_more_keys(student, draw, queries, keys):
    return {"mask": student.causal_mask(queries, key_length=keys)}


@probe(*CROSS)
def probe_more_queries(student, draw, queries, keys):
    return {"mask": student.causal_mask(keys, key_length=queries)}


@probe(*CROSS)
def probe_offset(student, draw, queries, keys):
    offset = keys - queries - 1
    return {"mask": student.causal_mask(queries, key_length=keys, query_offset=offset)}


@probe(*CROSS)
def probe_offset_to_the_end(student, draw, queries, keys):
    offset = keys - queries
    return {"mask": student.causal_mask(queries, key_length=keys, query_offset=offset)}


@probe(*CROSS)
def probe_negative_offset(student, draw, queries, keys):
    return {"mask": student.causal_mask(queries, key_length=keys, query_offset=-2)}


@probe({"keys": 6, "offset": 3}, {"keys": 9, "offset": 5})
def probe_single_query(student, draw, keys, offset):
    return {"mask": student.causal_mask(1, key_length=keys, query_offset=offset)}


@probe({"keys": 3000}, {"keys": 2500})
def probe_long(student, draw, keys):
    return {"mask": student.causal_mask(2, key_length=keys, query_offset=2000)}


@probe(*PLACES)
def probe_padding(student, draw, lengths, places):
    return {"mask": student.padding_mask(torch.tensor((*lengths, places)), places)}


@probe(*PLACES)
def probe_more_places_than_tokens(student, draw, lengths, places):
    return {"mask": student.padding_mask(torch.tensor(lengths), places)}


@probe(*PLACES)
def probe_sequence_without_tokens(student, draw, lengths, places):
    return {"mask": student.padding_mask(torch.tensor((0, *lengths)), places)}


@probe(*PLACES)
def probe_lengths_afterwards(student, draw, lengths, places):
    given = torch.tensor(lengths)
    student.padding_mask(given, places)
    return {"lengths": given}


@probe(*CROSS)
def probe_one_mask(student, draw, queries, keys):
    return {"mask": student.combine_masks(*some_masks(draw, (2, queries, keys)))}


@probe(*CROSS)
def probe_one_matrix(student, draw, queries, keys):
    return {"mask": student.combine_masks(*some_masks(draw, (queries, keys)))}


@probe(*CROSS)
def probe_two_masks(student, draw, queries, keys):
    masks = some_masks(draw, *[(2, queries, keys)] * 2, allowed=0.6)
    return {"mask": student.combine_masks(*masks)}


@probe(*CROSS)
def probe_four_masks(student, draw, queries, keys):
    return {"mask": student.combine_masks(*some_masks(draw, *[(2, queries, keys)] * 4))}


@probe(*CROSS)
def probe_masks_that_shrink(student, draw, queries, keys):
    masks = some_masks(draw, (2, queries, keys), (queries, keys), (keys,))
    return {"mask": student.combine_masks(*masks)}


@probe(*CROSS)
def probe_masks_that_grow(student, draw, queries, keys):
    masks = some_masks(draw, (keys,), (queries, keys), (2, 1, 1, keys))
    return {"mask": student.combine_masks(*masks)}


@probe(*CROSS)
def probe_queries_without_keys(student, draw, queries, keys):
    first = draw.mask(2, queries, keys)
    second = first.clone()
    second[:, 1] = ~first[:, 1]
    return {"mask": student.combine_masks(first, second)}


@probe(*CROSS)
def probe_masks_afterwards(student, draw, queries, keys):
    masks = some_masks(draw, *[(queries, keys)] * 3)
    student.combine_masks(*masks)
    return {f"mask {number}": mask for number, mask in enumerate(masks, start=1)}


@probe(*CROSS)
def probe_device(student, draw, queries, keys):
    masks = [torch.ones(2, queries, keys, dtype=torch.bool, device="meta") for _ in range(2)]
    return {"mask": student.combine_masks(*masks)}
