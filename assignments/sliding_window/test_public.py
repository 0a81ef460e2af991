"""Public checks of `sliding_window`: the worked examples of the handout. Read them, run them."""

import torch

from grader.suite import assert_close, assert_shape, check, demonstration

ONES = torch.ones(4, 1)
VALUES = torch.tensor([[8.0, 0.0], [4.0, 0.0], [2.0, 6.0], [0.0, 2.0]])
WEIGHTS = torch.tensor(
    [[1.0, 0.0, 0.0, 0.0], [0.5, 0.5, 0.0, 0.0], [0.0, 0.5, 0.5, 0.0], [0.0, 0.0, 0.5, 0.5]]
)
OUTPUT = torch.tensor([[8.0, 0.0], [6.0, 0.0], [3.0, 3.0], [1.0, 4.0]])

FIVE_QUERIES = torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0], [2.0, 0.0], [0.0, 1.0]])
FIVE_KEYS = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.0], [0.0, 2.0]])
FIVE_VALUES = torch.tensor(
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0], [2.0, 0.0, 0.0]]
)


@check(
    "shape",
    points=1,
    title="The output has one row a position, the weights one column a position",
    hint="Which axis of the scores belongs to the queries, and which to the keys?",
)
def test_example_shapes(student):
    output, weights = student.sliding_window_attention(
        FIVE_QUERIES, FIVE_KEYS, FIVE_VALUES, window=3
    )
    assert_shape(output, {"T": 5, "Dv": 3}, "output")
    assert_shape(weights, {"T": 5, "S": 5}, "weights")


@check(
    "values",
    points=2,
    title="The worked example: each query shares out its 1 among the keys that it sees",
    hint="How many keys does the first query see, and how many the last?",
)
def test_worked_example(student):
    output, weights = student.sliding_window_attention(ONES, ONES, VALUES, window=2)
    assert_close(weights, WEIGHTS, "weights")
    assert_close(output, OUTPUT, "output")


@check(
    "values",
    points=1,
    title="With a window of 1 the output is the value",
    hint="Which key does a query see, if it sees one?",
)
def test_window_of_one(student):
    output, weights = student.sliding_window_attention(
        FIVE_QUERIES, FIVE_KEYS, FIVE_VALUES, window=1
    )
    assert_close(weights, torch.eye(5), "weights")
    assert_close(output, FIVE_VALUES, "output")


@demonstration("the worked example")
def show_worked_example(student):
    output, weights = student.sliding_window_attention(ONES, ONES, VALUES, window=2)
    return {"weights": weights, "output": output}


def five_positions(student, window):
    output, weights = student.sliding_window_attention(
        FIVE_QUERIES, FIVE_KEYS, FIVE_VALUES, window=window
    )
    return {"weights": weights, "output": output}


@demonstration("five positions with a window of 3")
def show_five_positions(student):
    return five_positions(student, 3)


@demonstration("five positions with a window of 1")
def show_window_of_one(student):
    return five_positions(student, 1)


@demonstration("five positions with a window of 9")
def show_window_beyond_the_length(student):
    return five_positions(student, 9)
