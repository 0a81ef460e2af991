"""Public checks of `mla`: the worked example of the handout. Read them, run them."""

import torch

from grader.suite import assert_close, assert_shape, check, demonstration, gradient_reach

TOKENS = torch.tensor([[[1.0, 0.0, 1.0, -2.0], [0.0, 1.0, 2.0, 0.0]]])
MATRICES = {
    "W_DQ": [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 0.0, 1.0, 0.0]],
    "W_UQ": [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 0.0]],
    "W_DKV": [[1.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 1.0]],
    "W_UK": [[1.0, 0.0], [0.0, 1.0], [0.0, 1.0], [1.0, 0.0]],
    "W_UV": [[10.0, 0.0], [0.0, 10.0], [0.0, 20.0], [20.0, 0.0]],
    "W_o": torch.eye(4).tolist(),
}
LATENT = torch.tensor([[[1.0, -2.0], [0.0, 1.0]]])
OUTPUT = torch.tensor([[[6.698, -10.093, 13.577, 2.141], [1.070, 6.789, 19.150, 0.283]]])
CAUSAL = torch.tensor([[True, False], [True, True]])


def example(student, **changed):
    """The layer of the worked example: two heads of two columns, latents of three and two."""
    layer = student.MultiHeadLatentAttention(
        embed_dim=4, num_heads=2, q_latent_dim=3, kv_latent_dim=2
    )
    weights = {}
    for name, rows in (MATRICES | changed).items():
        weights[f"{name}.weight"] = torch.tensor(rows)
        weights[f"{name}.bias"] = torch.zeros(len(rows))
    layer.load_weights(weights)
    return layer.eval()


@check(
    "shape",
    points=1,
    title="The output has the shape of the input, and c_kv has kv_latent_dim columns",
    hint="What comes first in the pair, and how wide is each of the two?",
)
def test_example_shapes(student):
    output, c_kv = example(student)(TOKENS.clone())
    assert_shape(output, {"B": 1, "T": 2, "C": 4}, "output")
    # T and kv_latent_dim are both 2 here.
    assert_shape(c_kv, {"B": 1, "T": 2, "kv_latent_dim": 2}, "c_kv")


@check(
    "cache",
    points=1,
    title="The worked example: c_kv is 1, -2 for the first token and 0, 1 for the second",
    hint="What is W_DKV times the first token?",
)
def test_latent_of_the_example(student):
    _, c_kv = example(student)(TOKENS.clone())
    assert_close(c_kv, LATENT, "c_kv")


@check(
    "values",
    points=3,
    title="The worked example: first row 6.698, -10.093, 13.577, 2.141",
    hint="Follow the handout's steps with your own numbers. Which is the first that differs?",
)
def test_worked_example(student):
    output, _ = example(student)(TOKENS.clone())
    assert_close(output, OUTPUT, "output", tol=(0.0, 2e-3))


@check(
    "mask",
    points=1,
    title="Under a causal mask the first token hands on its own values",
    hint="True means allowed. What does a token attend to that may see only itself?",
)
def test_causal_example(student):
    layer = example(student)
    unmasked, _ = layer(TOKENS.clone())
    output, _ = layer(TOKENS.clone(), mask=CAUSAL.clone())
    assert_close(output[:, 0], torch.tensor([[10.0, -20.0, -40.0, 20.0]]), "output")
    assert_close(output[:, 1], unmasked[:, 1], "output")


def weights(student, **mask):
    """(H, T, S): the weights of both heads, which values that are the identity show."""
    # W_UV undoes the latent of the two tokens: what is left is the identity.
    layer = example(student, W_UV=[[1.0, 0.0], [2.0, 1.0]] * 2)
    return layer(TOKENS.clone(), **mask)[0].reshape(2, 2, 2).transpose(0, 1)


@demonstration("the weights of both heads, read off where each value shows its place")
def show_weights(student):
    return {"weights": weights(student)}


@demonstration("the weights of both heads under a causal mask", about=("mask", "causal-leak"))
def show_weights_under_a_mask(student):
    return {"weights": weights(student, mask=CAUSAL.clone())}


@demonstration("the worked example")
def show_worked_example(student):
    output, c_kv = example(student)(TOKENS.clone())
    return {"c_kv": c_kv, "output": output}


@demonstration("the worked example under a causal mask", about=("mask", "causal-leak"))
def show_causal(student):
    output, c_kv = example(student)(TOKENS.clone(), mask=CAUSAL.clone())
    return {"c_kv": c_kv, "output": output}


@demonstration("one mask for each of two items", about=("mask",))
def show_mask_of_each_item(student):
    both = TOKENS.expand(2, 2, 4).contiguous()
    masks = torch.stack([CAUSAL, torch.ones(2, 2, dtype=torch.bool)])
    output, _ = example(student)(both, mask=masks)
    return {"output": output}


@demonstration("which inputs the gradient reaches", shows="reach")
def show_gradients(student):
    layer = example(student)
    return gradient_reach(lambda tokens: layer(tokens)[0], tokens=TOKENS)
