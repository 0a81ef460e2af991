"""Public checks of `heads`: the worked example of the handout. Read them, run them."""

import torch

from grader.suite import CheckFailure, assert_shape, check, demonstration

TOKENS = torch.tensor(
    [
        [
            [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
            [11.0, 12.0, 13.0, 14.0, 15.0, 16.0],
            [21.0, 22.0, 23.0, 24.0, 25.0, 26.0],
            [31.0, 32.0, 33.0, 34.0, 35.0, 36.0],
        ]
    ]
)
HEADS = torch.tensor(
    [
        [
            [[1.0, 2.0, 3.0], [11.0, 12.0, 13.0], [21.0, 22.0, 23.0], [31.0, 32.0, 33.0]],
            [[4.0, 5.0, 6.0], [14.0, 15.0, 16.0], [24.0, 25.0, 26.0], [34.0, 35.0, 36.0]],
        ]
    ]
)


def assert_same(actual, expected, words):
    """Not a number has changed its place."""
    if not torch.equal(actual.double(), expected.double()):
        raise CheckFailure(words, f"expected {expected.tolist()}, got {actual.tolist()}")


@check(
    "shape",
    points=1,
    title="Four tokens of width 6 become two heads of width 3, and back",
    hint="Write down B, T, C and B, H, T, D for the example.",
)
def test_example_shapes(student):
    heads = student.split_heads(TOKENS.clone(), 2)
    assert_shape(heads, [("B", 1), ("H", 2), ("T", 4), ("D", 3)], "heads")
    merged = student.merge_heads(HEADS.clone())
    assert_shape(merged, [("B", 1), ("T", 4), ("C", 6)], "merged heads")


@check(
    "heads",
    points=2,
    title="The first head of the example holds the first three columns of every token",
    hint="Which numbers of the token 11 ... 16 belong to the first head?",
)
def test_split_example(student):
    words = "Your heads do not hold the numbers that the worked example gives them."
    assert_same(student.split_heads(TOKENS.clone(), 2), HEADS, words)


@check(
    "heads",
    points=2,
    title="Merging the two heads of the example gives the four tokens again",
    hint="Which six numbers make up the second token, and where in the heads are they?",
)
def test_merge_example(student):
    words = "Your merged heads are not the tokens of the worked example."
    assert_same(student.merge_heads(HEADS.clone()), TOKENS, words)


@demonstration("splitting four tokens of width 6 into two heads")
def show_split(student):
    return {"heads": student.split_heads(TOKENS.clone(), 2)}


@demonstration("merging two heads of width 3")
def show_merge(student):
    return {"merged": student.merge_heads(HEADS.clone())}
