"""Public checks of `attention`: the worked example of the handout. Read them, run them."""

import torch

from grader.suite import assert_close, assert_shape, check, demonstration, gradient_reach

QUERY = torch.tensor([[1.0, 0.0]])
KEYS = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
VALUES = torch.tensor([[10.0, 0.0], [0.0, 20.0]])

THREE_QUERIES = torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
FOUR_KEYS = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.0]])
FOUR_VALUES = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
ALLOWED = torch.tensor([[True, True, False, True], [True, False, True, True], [True] * 4])
LAST_SEES_NOTHING = torch.tensor(
    [[True, True, False, True], [True, False, True, True], [False] * 4]
)


@check(
    "shape",
    points=1,
    title="The output has one row a query, the weights one column a key",
    hint="Which axis of the scores belongs to the queries, and which to the keys?",
)
def test_example_shapes(student):
    output, weights = student.scaled_dot_product_attention(THREE_QUERIES, FOUR_KEYS, FOUR_VALUES)
    assert_shape(output, {"T": 3, "Dv": 3}, "output")
    assert_shape(weights, {"T": 3, "S": 4}, "weights")


@check(
    "values",
    points=2,
    title="The worked example: weights 0.670 and 0.330, output 6.698 and 6.605",
    hint="Follow the handout's five steps with your own numbers. Which is the first that differs?",
)
def test_worked_example(student):
    output, weights = student.scaled_dot_product_attention(QUERY, KEYS, VALUES)
    assert_close(weights, torch.tensor([[0.670, 0.330]]), "weights", tol=(0.0, 1e-3))
    assert_close(output, torch.tensor([[6.698, 6.605]]), "output", tol=(0.0, 1e-2))


@check(
    "mask",
    points=2,
    title="With only the first key allowed, the answer is the first value",
    hint="True means allowed. What does a blocked score have to be, so that softmax makes it 0?",
)
def test_only_the_first_key(student):
    only_first = torch.tensor([[True, False]])
    output, weights = student.scaled_dot_product_attention(QUERY, KEYS, VALUES, mask=only_first)
    assert_close(weights, torch.tensor([[1.0, 0.0]]), "weights")
    assert_close(output, VALUES[:1], "output")


@demonstration("the worked example")
def show_worked_example(student):
    output, weights = student.scaled_dot_product_attention(QUERY, KEYS, VALUES)
    return {"weights": weights, "output": output}


@demonstration("three queries and four keys")
def show_three_queries(student):
    output, weights = student.scaled_dot_product_attention(THREE_QUERIES, FOUR_KEYS, FOUR_VALUES)
    return {"weights": weights, "output": output}


@demonstration("three queries, four keys and a mask", about=("mask", "causal-leak"))
def show_mask(student):
    output, weights = student.scaled_dot_product_attention(
        THREE_QUERIES, FOUR_KEYS, FOUR_VALUES, mask=ALLOWED
    )
    return {"weights": weights, "output": output}


@demonstration("a mask that leaves the last query no key", about=("errors",))
def show_a_query_without_keys(student):
    """1 where ValueError was raised, 0 where something was returned."""
    try:
        student.scaled_dot_product_attention(
            THREE_QUERIES, FOUR_KEYS, FOUR_VALUES, mask=LAST_SEES_NOTHING
        )
    except ValueError:
        return {"ValueError raised": torch.tensor([1.0])}
    return {"ValueError raised": torch.tensor([0.0])}


@demonstration("which inputs the gradient reaches", shows="reach")
def show_gradients(student):
    def output(query, key, value):
        return student.scaled_dot_product_attention(query, key, value)[0]

    return gradient_reach(output, query=THREE_QUERIES, key=FOUR_KEYS, value=FOUR_VALUES)
