"""Public checks of `masks`: the worked example of the handout. Read them, run them."""

import torch

from grader.suite import CheckFailure, WrongShape, assert_shape, check, demonstration

LENGTHS = torch.tensor([3, 1])
THREE_TOKENS = torch.tensor(
    [[True, False, False, False], [True, True, False, False], [True, True, True, False]]
)
TWO_AFTER_THREE = torch.tensor([[True, True, True, True, False], [True, True, True, True, True]])
PADDING = torch.tensor([[True, True, True, False], [True, False, False, False]])
BOTH = torch.tensor(
    [
        [[True, False, False, False], [True, True, False, False], [True, True, True, False]],
        [[True, False, False, False], [True, False, False, False], [True, False, False, False]],
    ]
)


def assert_mask(mask, expected, words):
    """``mask`` allows what ``expected`` allows, and blocks the rest."""
    if mask.shape != expected.shape:
        raise WrongShape(
            "Your mask does not have the expected shape.",
            f"expected {tuple(expected.shape)}, got {tuple(mask.shape)}",
        )
    if not torch.equal(mask == 1, expected) or not torch.equal(mask == 0, ~expected):
        raise CheckFailure(words, f"expected {expected.int().tolist()}, got {mask.tolist()}")


@check(
    "shape",
    points=1,
    title="The causal mask has a row a query, the padding mask a row a sequence",
    hint="Which argument says how many rows there are, and which how many columns?",
)
def test_example_shapes(student):
    assert_shape(student.causal_mask(3, key_length=4), {"T": 3, "S": 4}, "causal mask")
    assert_shape(student.padding_mask(LENGTHS.clone(), 4), {"B": 2, "S": 4}, "padding mask")


@check(
    "values",
    points=1,
    title="Three queries and four keys: each query sees the keys up to its own place",
    hint="Write the 3 by 4 table on paper, a row a query. Which entries are True?",
)
def test_three_queries_and_four_keys(student):
    words = "Your causal mask does not allow each query exactly the keys up to its own position."
    assert_mask(student.causal_mask(3, key_length=4), THREE_TOKENS, words)


@check(
    "positions",
    points=2,
    title="Two new queries after three cached tokens see those three and each other backwards",
    hint="At which positions do the two queries stand?",
)
def test_two_queries_after_three(student):
    words = "Your causal mask does not count the queries' positions from the offset on."
    mask = student.causal_mask(2, key_length=5, query_offset=3)
    assert_mask(mask, TWO_AFTER_THREE, words)


@check(
    "mask",
    points=1,
    title="Of sequences with 3 and 1 tokens, the first 3 and the first 1 keys are allowed",
    hint="True means allowed. Which places of the second sequence hold a token?",
)
def test_two_lengths(student):
    words = "Your padding mask does not allow exactly the tokens of each sequence."
    assert_mask(student.padding_mask(LENGTHS.clone(), 4), PADDING, words)


@check(
    "values",
    points=2,
    title="Causal and padding together allow what both allow",
    hint="A key has to pass both rules. Which logical operation is that?",
)
def test_both_together(student):
    words = "Your combined mask does not allow exactly what both masks allow."
    mask = student.combine_masks(THREE_TOKENS.clone(), PADDING[:, None, :].clone())
    assert_mask(mask, BOTH, words)


@demonstration("a causal mask for three queries and four keys")
def show_causal(student):
    return {"mask": student.causal_mask(3, key_length=4)}


@demonstration("two queries after three cached tokens")
def show_offset(student):
    return {"mask": student.causal_mask(2, key_length=5, query_offset=3)}


@demonstration("sequences of 3 and 1 tokens, padded to 4")
def show_padding(student):
    return {"mask": student.padding_mask(LENGTHS.clone(), 4)}


@demonstration("a causal and a padding mask together")
def show_combined(student):
    return {"mask": student.combine_masks(THREE_TOKENS.clone(), PADDING[:, None, :].clone())}
