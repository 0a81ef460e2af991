"""Public checks of `mha`: the worked example of the handout. Read them, run them."""

import torch

from grader.suite import (
    CheckFailure,
    assert_close,
    assert_shape,
    check,
    demonstration,
    gradient_reach,
)

QUERY = torch.tensor([[[1.0, 0.0, 0.0, 1.0]]])
KEYS = torch.tensor([[[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0]]])
VALUES = torch.tensor([[[10.0, 0.0, 10.0, 0.0], [0.0, 20.0, 0.0, 20.0]]])

EYE = torch.eye(4)
BACKWARDS = EYE.flip(0)
THREE_QUERIES = torch.tensor(
    [
        [[1.0, 0.0, 0.0, 1.0], [0.0, 2.0, 1.0, 0.0], [1.0, 1.0, 2.0, 0.0]],
        [[0.0, 1.0, 1.0, 1.0], [2.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 2.0]],
    ]
)
FOUR_KEYS = torch.tensor(
    [
        [[1.0, 0.0, 1.0, 0.0], [0.0, 1.0, 0.0, 1.0], [1.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 1.0]],
        [[0.0, 2.0, 1.0, 0.0], [1.0, 0.0, 0.0, 2.0], [0.0, 0.0, 2.0, 1.0], [1.0, 1.0, 1.0, 0.0]],
    ]
)
# The first item may not see its last key, the second not its first two.
FOR_EACH_ITEM = torch.tensor([[[True, True, True, False]] * 3, [[False, False, True, True]] * 3])
# The last query of the second item may not see any key.
NONE_FOR_THE_LAST = FOR_EACH_ITEM.clone()
NONE_FOR_THE_LAST[1, 2] = False
CAUSAL = torch.ones(4, 4, dtype=torch.bool).tril()


def attention(student, w_q=EYE, w_k=EYE, w_v=EYE, w_o=EYE):
    """The student's module of width 4 with two heads, these weights and no biases."""
    module = student.MultiHeadAttention(embed_dim=4, num_heads=2)
    weights = {"W_q": w_q, "W_k": w_k, "W_v": w_v, "W_o": w_o}
    module.load_weights(
        {f"{name}.weight": weight for name, weight in weights.items()}
        | {f"{name}.bias": torch.zeros(4) for name in weights}
    )
    module.eval()
    if "W_q.weight" not in dict(module.named_parameters()):
        assert_loader_is_right(module, w_v, w_o)
    return module


def assert_loader_is_right(module, w_v, w_o):
    """With one query and one key the weight is 1: nothing but W_v and W_o is left."""
    value = torch.tensor([[[1.0, 2.0, 3.0, 4.0]]])
    output, _ = module(value, value, value)
    if output.shape != value.shape or (output - value @ w_v.T @ w_o.T).abs().max() > 1e-4:
        raise CheckFailure(
            "The weights that are loaded and the weights that forward uses are not the same ones: "
            "with one query and one key the output has to be W_o(W_v(value)). Look at load_weights "
            "(transposed? another order? biases left?) and at the layers that forward calls."
        )


@check(
    "shape",
    points=1,
    title="The output is as wide as the input, and there are weights for each head",
    hint="Which axis do the heads have, before they are merged?",
)
def test_example_shapes(student):
    output, weights = attention(student)(THREE_QUERIES, FOUR_KEYS, FOUR_KEYS)
    assert_shape(output, [("B", 2), ("T", 3), ("C", 4)], "output")
    assert_shape(weights, [("B", 2), ("H", 2), ("T", 3), ("S", 4)], "weights")


@check(
    "values",
    points=2,
    title="The worked example: one query, two keys, two heads",
    hint="Which two of the four columns does the first head see, and which the second?",
    shows="the worked example",
)
def test_worked_example(student):
    output, weights = attention(student)(QUERY, KEYS, VALUES)
    expected = torch.tensor([[[[0.670, 0.330]], [[0.330, 0.670]]]])
    assert_close(weights, expected, "weights", tol=(0.0, 1e-3))
    expected = torch.tensor([[[6.698, 6.605, 3.302, 13.395]]])
    assert_close(output, expected, "output", tol=(0.0, 1e-2))


@check(
    "parameters",
    points=1,
    title="The output projection comes last: W_o backwards turns the example's output around",
    hint="What happens to the merged heads before they are returned?",
)
def test_output_projection(student):
    output, _ = attention(student, w_o=BACKWARDS)(QUERY, KEYS, VALUES)
    expected = torch.tensor([[[13.395, 3.302, 6.605, 6.698]]])
    assert_close(output, expected, "output", tol=(0.0, 1e-2))


@check(
    "mask",
    points=1,
    title="With only the first key allowed, the output is the first value",
    hint="True means allowed. What does a blocked score have to be, so that softmax makes it 0?",
)
def test_only_the_first_key(student):
    only_first = torch.tensor([[True, False]])
    output, weights = attention(student)(QUERY, KEYS, VALUES, mask=only_first)
    assert_close(weights, torch.tensor([[[[1.0, 0.0]], [[1.0, 0.0]]]]), "weights")
    assert_close(output, VALUES[:, :1], "output")


@demonstration("the worked example")
def show_worked_example(student):
    output, weights = attention(student)(QUERY, KEYS, VALUES)
    return {"weights": weights, "output": output}


@demonstration("two items, two heads, three queries and four keys")
def show_two_items(student):
    output, weights = attention(student, w_v=BACKWARDS)(THREE_QUERIES, FOUR_KEYS, FOUR_KEYS)
    return {"weights": weights, "output": output}


@demonstration("two items, two heads and a mask for each item", about=("mask",))
def show_mask_for_each_item(student):
    module = attention(student)
    output, weights = module(THREE_QUERIES, FOUR_KEYS, FOUR_KEYS, mask=FOR_EACH_ITEM)
    return {"weights": weights, "output": output}


@demonstration("two items, two heads, and a causal mask", about=("mask", "causal-leak"))
def show_causal(student):
    output, weights = attention(student)(FOUR_KEYS, FOUR_KEYS, FOUR_KEYS, mask=CAUSAL)
    return {"weights": weights, "output": output}


@demonstration("a mask that leaves the last query of the second item no key", about=("errors",))
def show_a_query_without_keys(student):
    """1 where ValueError was raised, 0 where something was returned."""
    module = attention(student)
    try:
        module(THREE_QUERIES, FOUR_KEYS, FOUR_KEYS, mask=NONE_FOR_THE_LAST)
    except ValueError:
        return {"ValueError raised": torch.tensor([1.0])}
    return {"ValueError raised": torch.tensor([0.0])}


@demonstration("which inputs the gradient reaches", shows="reach")
def show_gradients(student):
    def output(query, key, value):
        return attention(student)(query, key, value)[0]

    return gradient_reach(output, query=THREE_QUERIES[:1], key=FOUR_KEYS[:1], value=FOUR_KEYS[:1])
