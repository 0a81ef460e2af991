"""Public checks of `dropout`: the worked example of the handout. Read them, run them."""

import torch

from grader.suite import (
    CheckFailure,
    assert_close,
    assert_shape,
    check,
    demonstration,
    gradient_reach,
)

QUERY = torch.tensor([[1.0, 0.0]])
KEYS = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
VALUES = torch.tensor([[10.0, 0.0], [0.0, 20.0]])

THREE_QUERIES = torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
FOUR_KEYS = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.0]])
FOUR_VALUES = torch.tensor([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [1.0, 1.0, 1.0]])
ALLOWED = torch.tensor([[True, True, False, True], [True, False, True, True], [True] * 4])


@check(
    "shape",
    points=1,
    title="The output has one row a query, as wide as a value",
    hint="Which axis of the scores belongs to the queries, and which to the keys?",
)
def test_example_shape(student):
    attention = student.MaskedScaledDotProductAttention(dropout=0.5).eval()
    output = attention(THREE_QUERIES, FOUR_KEYS, FOUR_VALUES)
    assert_shape(output, {"T": 3, "Dv": 3}, "output")


@check(
    "values",
    points=2,
    title="The worked example in evaluation: output 6.698 and 6.605",
    hint="In evaluation nothing is dropped and nothing is scaled. Which of your steps differs?",
)
def test_example_in_evaluation(student):
    attention = student.MaskedScaledDotProductAttention(dropout=0.5).eval()
    output = attention(QUERY, KEYS, VALUES)
    assert_close(output, torch.tensor([[6.698, 6.605]]), "output", tol=(0.0, 1e-2))


@check(
    "dropout",
    points=3,
    title="The worked example in training: each weight is either 0 or doubled",
    hint="At rate 0.5, what happens to a weight that is dropped, and to one that survives?",
    shows="training at rate 0.5: the smallest and the largest weight",
)
def test_example_in_training(student):
    attention = student.MaskedScaledDotProductAttention(dropout=0.5)
    doubled = 2 * attention.eval()(QUERY, KEYS, VALUES)
    dropped = 0
    for _ in range(40):
        output = attention.train()(QUERY, KEYS, VALUES)
        assert_shape(output, {"T": 1, "Dv": 2}, "output")
        is_zero = output == 0
        if bool(((output - doubled).abs() > 1e-3).logical_and(~is_zero).any()):
            raise CheckFailure(
                "In training at rate 0.5 each number of this output is either 0 or twice what it "
                "is in evaluation; yours was something else.",
                f"in training {output.tolist()}, in evaluation {(doubled / 2).tolist()}",
            )
        dropped += int(is_zero.sum())
    if dropped in (0, 80):
        how = "nothing" if dropped == 0 else "everything"
        raise CheckFailure(f"In forty training calls at rate 0.5 {how} was dropped.")


@demonstration("evaluation: the worked example")
def show_worked_example(student):
    attention = student.MaskedScaledDotProductAttention(dropout=0.5).eval()
    return {"output": attention(QUERY, KEYS, VALUES)}


@demonstration("evaluation: three queries and four keys, whose values show the weights")
def show_three_queries(student):
    attention = student.MaskedScaledDotProductAttention(dropout=0.5).eval()
    return {"weights": attention(THREE_QUERIES, FOUR_KEYS, torch.eye(4))}


@demonstration("evaluation: three queries, four keys and a mask", about=("mask", "causal-leak"))
def show_mask(student):
    attention = student.MaskedScaledDotProductAttention(dropout=0.5).eval()
    return {"weights": attention(THREE_QUERIES, FOUR_KEYS, torch.eye(4), mask=ALLOWED)}


@demonstration("training at rate 0.5: the smallest and the largest weight")
def show_training(student):
    # Equal keys give each of the 4 keys the weight 0.25; 200 queries show all that can happen.
    attention = student.MaskedScaledDotProductAttention(dropout=0.5).train()
    weights = attention(torch.ones(200, 2), torch.ones(4, 2), torch.eye(4))
    return {"smallest": weights.min(), "largest": weights.max()}


@demonstration("training at rate 1: every weight is dropped")
def show_rate_one(student):
    attention = student.MaskedScaledDotProductAttention(dropout=1.0).train()
    return {"output": attention(QUERY, KEYS, VALUES)}


@demonstration("which inputs the gradient reaches", shows="reach")
def show_gradients(student):
    attention = student.MaskedScaledDotProductAttention(dropout=0.5).eval()
    return gradient_reach(attention, query=THREE_QUERIES, key=FOUR_KEYS, value=FOUR_VALUES)
