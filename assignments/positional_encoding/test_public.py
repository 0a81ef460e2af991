"""Public checks of `positional_encoding`: the worked example of the handout. Read and run them."""

import torch

from grader.suite import assert_close, assert_shape, check, demonstration

WIDTH_FOUR = torch.tensor(
    [
        [0.0, 1.0, 0.0, 1.0],
        [0.841471, 0.540302, 0.0099998, 0.999950],
        [0.909297, -0.416147, 0.0199987, 0.999800],
    ]
)
WIDTH_THREE = torch.tensor(
    [[0.0, 1.0, 0.0], [0.841471, 0.540302, 0.0021544], [0.909297, -0.416147, 0.0043089]]
)
NEAR = (0.0, 1e-4)


@check(
    "shape",
    points=1,
    title="Three positions of width 4 make a table of 3 rows and 4 columns",
    hint="Which argument counts the rows, and which the columns?",
)
def test_example_shape(student):
    assert_shape(student.positional_encoding(3, 4), {"T": 3, "C": 4}, "encoding")


@check(
    "values",
    points=2,
    title="Three positions of width 4: the table of the handout",
    hint="The frequencies of the two pairs are 1 and 0.01. Which are yours?",
)
def test_width_four(student):
    encoding = student.positional_encoding(3, 4)
    words = "Your table is not the one of the worked example."
    assert_close(encoding, WIDTH_FOUR, "encoding", tol=NEAR, message=words)


@check(
    "values",
    points=2,
    title="Three positions of width 3: a pair, and a sine alone",
    hint="How many columns are even, and how many odd, if there are three?",
)
def test_width_three(student):
    encoding = student.positional_encoding(3, 3)
    words = "Your table for an odd width is not the one of the worked example."
    assert_close(encoding, WIDTH_THREE, "encoding", tol=NEAR, message=words)


@demonstration("three positions of width 4")
def show_width_four(student):
    return {
        "encoding": student.positional_encoding(3, 4),
        "encoding over 32 positions": student.positional_encoding(32, 4),
    }


@demonstration("three positions of width 3")
def show_width_three(student):
    return {"encoding": student.positional_encoding(3, 3)}
