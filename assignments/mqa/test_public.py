"""Public checks of `mqa`: the worked example of the handout. Read them, run them."""

import torch

from grader.suite import assert_close, assert_shape, check, demonstration, gradient_reach

TOKENS = torch.tensor([[[1.0, 0.0, 0.0, 2.0], [0.0, 1.0, 1.0, 0.0]]])
WEIGHTS = {
    "W_q.weight": torch.eye(4),
    "W_k.weight": torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0]]),
    "W_v.weight": torch.tensor([[0.0, 0.0, 10.0, 0.0], [0.0, 0.0, 0.0, 10.0]]),
    "W_o.weight": torch.eye(4),
    "W_q.bias": torch.zeros(4),
    "W_k.bias": torch.zeros(2),
    "W_v.bias": torch.zeros(2),
    "W_o.bias": torch.zeros(4),
}
OUTPUT = torch.tensor([[[3.302, 13.395, 8.044, 3.911], [6.698, 6.605, 3.302, 13.395]]])
CAUSAL = torch.tensor([[True, False], [True, True]])


def example(student):
    """The layer of the worked example: two heads, each two columns wide."""
    layer = student.MultiQueryAttention(embed_dim=4, num_heads=2)
    layer.load_weights({name: tensor.clone() for name, tensor in WEIGHTS.items()})
    return layer.eval()


@check(
    "shape",
    points=1,
    title="The output has the shape of the input",
    hint="The heads have to be put side by side again: H times D is C.",
)
def test_example_shape(student):
    assert_shape(example(student)(TOKENS.clone()), {"B": 1, "T": 2, "C": 4}, "output")


@check(
    "values",
    points=3,
    title="The worked example: first row 3.302, 13.395, 8.044, 3.911",
    hint="Follow the handout's steps with your own numbers. Which is the first that differs?",
)
def test_worked_example(student):
    assert_close(example(student)(TOKENS.clone()), OUTPUT, "output", tol=(0.0, 2e-3))


@check(
    "mask",
    points=2,
    title="Under a causal mask the first token hands on its own value in both heads",
    hint="True means allowed. What does a token attend to that may see only itself?",
)
def test_causal_example(student):
    layer = example(student)
    unmasked = layer(TOKENS.clone())
    output = layer(TOKENS.clone(), mask=CAUSAL.clone())
    assert_close(output[:, 0], torch.tensor([[0.0, 20.0, 0.0, 20.0]]), "output")
    assert_close(output[:, 1], unmasked[:, 1], "output")


def weights(student, **mask):
    """(H, T, S): the weights of both heads, which values that are the identity show."""
    layer = student.MultiQueryAttention(embed_dim=4, num_heads=2)
    # The first two columns of the tokens are the identity.
    values = {"W_v.weight": torch.eye(4)[:2]}
    layer.load_weights({name: tensor.clone() for name, tensor in (WEIGHTS | values).items()})
    layer.eval()
    return layer(TOKENS.clone(), **mask).reshape(2, 2, 2).transpose(0, 1)


@demonstration("the weights of both heads, read off where each value shows its place")
def show_weights(student):
    return {"weights": weights(student)}


@demonstration("the weights of both heads under a causal mask", about=("mask", "causal-leak"))
def show_weights_under_a_mask(student):
    return {"weights": weights(student, mask=CAUSAL.clone())}


@demonstration("the worked example")
def show_worked_example(student):
    return {"output": example(student)(TOKENS.clone())}


@demonstration("the worked example under a causal mask", about=("mask", "causal-leak"))
def show_causal(student):
    return {"output": example(student)(TOKENS.clone(), mask=CAUSAL.clone())}


@demonstration("one mask for each of two items", about=("mask",))
def show_mask_of_each_item(student):
    both = TOKENS.expand(2, 2, 4).contiguous()
    masks = torch.stack([CAUSAL, torch.ones(2, 2, dtype=torch.bool)])
    return {"output": example(student)(both, mask=masks)}


@demonstration("which inputs the gradient reaches", shows="reach")
def show_gradients(student):
    return gradient_reach(example(student), tokens=TOKENS)
