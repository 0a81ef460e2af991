"""Public checks of `online_softmax`: the worked examples of the handout. Read them, run them."""

import pytest
import torch

from grader.suite import assert_close, assert_shape, check, demonstration

QUERY = torch.tensor([[1.0]])
KEYS = torch.tensor([[0.0], [1.0], [2.0]])
VALUES = torch.tensor([[1.0, 0.0], [0.0, 1.0], [2.0, 2.0]])

THREE_QUERIES = torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
FOUR_KEYS = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.0]])
FOUR_VALUES = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0]])


@check(
    "shape",
    points=1,
    title="The output has one row a query, the logsumexp one number",
    hint="What is kept for each query, and how are the blocks of queries put together?",
)
def test_example_shapes(student):
    output, logsumexp = student.online_softmax_attention(
        THREE_QUERIES, FOUR_KEYS, FOUR_VALUES, query_block=1, key_block=2
    )
    assert_shape(output, {"T": 3, "Dv": 3}, "output")
    assert_shape(logsumexp, {"T": 3}, "logsumexp")


@check(
    "values",
    points=2,
    title="The worked example: output 1.421 and 1.575, logsumexp 2.408, for every block of keys",
    hint="Follow the handout's table with your own numbers. Which is the first that differs?",
)
@pytest.mark.parametrize("key_block", [1, 2, 3, 5])
def test_worked_example(student, key_block):
    output, logsumexp = student.online_softmax_attention(
        QUERY, KEYS, VALUES, query_block=1, key_block=key_block
    )
    assert_close(output, torch.tensor([[1.421, 1.575]]), "output", tol=(0.0, 2e-3))
    assert_close(logsumexp, torch.tensor([2.408]), "logsumexp", tol=(0.0, 2e-3))


@demonstration("the worked example")
def show_worked_example(student):
    output, logsumexp = student.online_softmax_attention(
        QUERY, KEYS, VALUES, query_block=1, key_block=2
    )
    return {"output": output, "logsumexp": logsumexp}


@demonstration("three queries and four keys")
def show_three_queries(student):
    output, logsumexp = student.online_softmax_attention(
        THREE_QUERIES, FOUR_KEYS, FOUR_VALUES, query_block=1, key_block=2
    )
    return {"output": output, "logsumexp": logsumexp}
