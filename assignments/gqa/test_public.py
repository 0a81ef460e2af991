"""Public checks of `gqa`: the worked example of the handout. Read them, run them."""

import torch

from grader.suite import assert_close, assert_shape, check, demonstration, gradient_reach

TOKENS = torch.tensor([[[1.0, 2.0, 1.0, 0.0], [0.0, 1.0, 2.0, 1.0]]])
WEIGHTS = {
    "W_q.weight": torch.eye(4),
    "W_k.weight": torch.tensor([[1.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]]),
    "W_v.weight": torch.tensor([[10.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 20.0]]),
    "W_o.weight": torch.eye(4),
    "W_q.bias": torch.zeros(4),
    "W_k.bias": torch.zeros(2),
    "W_v.bias": torch.zeros(2),
    "W_o.bias": torch.zeros(4),
}
OUTPUT = torch.tensor([[[7.311, 8.808, 14.621, 10.0], [5.0, 7.311, 17.616, 14.621]]])
CAUSAL = torch.tensor([[True, False], [True, True]])


def example(student):
    """The layer of the worked example: four heads, one column each, in two groups."""
    layer = student.GroupedQueryAttention(embed_dim=4, num_heads=4, num_kv_groups=2)
    layer.load_weights({name: tensor.clone() for name, tensor in WEIGHTS.items()})
    return layer.eval()


def groups_of_heads(student, heads, groups):
    """The output for one token whose values are the number of their group, counted from 0."""
    layer = student.GroupedQueryAttention(embed_dim=heads, num_heads=heads, num_kv_groups=groups)
    layer.load_weights(
        {
            "W_q.weight": torch.eye(heads),
            "W_k.weight": torch.zeros(groups, heads),
            "W_v.weight": torch.arange(float(groups)).unsqueeze(1).repeat(1, heads),
            "W_o.weight": torch.eye(heads),
            "W_q.bias": torch.zeros(heads),
            "W_k.bias": torch.zeros(groups),
            "W_v.bias": torch.zeros(groups),
            "W_o.bias": torch.zeros(heads),
        }
    )
    return layer.eval()(torch.eye(heads)[:1].unsqueeze(0))


@check(
    "shape",
    points=1,
    title="The output has the shape of the input",
    hint="The heads have to be put side by side again: H times D is C.",
)
def test_example_shape(student):
    assert_shape(example(student)(TOKENS.clone()), {"B": 1, "T": 2, "C": 4}, "output")


@check(
    "heads",
    points=2,
    title="Of six heads and three groups, heads 0 and 1 take group 0, and so on",
    hint="Which heads are neighbours, and which of them share a group?",
    shows="which group each head takes its values from",
)
def test_six_heads_three_groups(student):
    output = groups_of_heads(student, 6, 3)
    wanted = torch.tensor([[[0.0, 0.0, 1.0, 1.0, 2.0, 2.0]]])
    words = "The six heads do not take the groups 0, 0, 1, 1, 2, 2."
    assert_close(output, wanted, "output", message=words)


@check(
    "values",
    points=3,
    title="The worked example: first row 7.311, 8.808, 14.621, 10",
    hint="Follow the handout's steps with your own numbers. Which is the first that differs?",
)
def test_worked_example(student):
    assert_close(example(student)(TOKENS.clone()), OUTPUT, "output", tol=(0.0, 2e-3))


@check(
    "mask",
    points=1,
    title="Under a causal mask the first token hands on its own values",
    hint="True means allowed. What does a token attend to that may see only itself?",
)
def test_causal_example(student):
    layer = example(student)
    unmasked = layer(TOKENS.clone())
    output = layer(TOKENS.clone(), mask=CAUSAL.clone())
    assert_close(output[:, 0], torch.tensor([[10.0, 10.0, 0.0, 0.0]]), "output")
    assert_close(output[:, 1], unmasked[:, 1], "output")


def weights_of_heads(student, **mask):
    """(H, T, S): the weights of four heads, which values that are the identity show."""
    layer = student.GroupedQueryAttention(embed_dim=8, num_heads=4, num_kv_groups=2)
    # The first two columns of the tokens are the identity, and become the values of both groups.
    eye = torch.eye(8)
    matrices = {"W_q": eye, "W_k": eye[2:6], "W_v": torch.cat([eye[:2], eye[:2]]), "W_o": eye}
    weights = {f"{name}.weight": matrix.clone() for name, matrix in matrices.items()}
    weights |= {f"{name}.bias": torch.zeros(len(matrix)) for name, matrix in matrices.items()}
    layer.load_weights(weights)
    layer.eval()
    tokens = torch.tensor([[[1.0, 0, 1, 2, 1, 0, 2, 1], [0.0, 1, 0, 1, 2, 1, 1, 0]]])
    return layer(tokens, **mask).reshape(2, 4, 2).transpose(0, 1)


@demonstration("the weights of four heads, read off where each value shows its place")
def show_weights(student):
    return {"weights": weights_of_heads(student)}


@demonstration("the weights of four heads under a causal mask", about=("mask", "causal-leak"))
def show_weights_under_a_mask(student):
    return {"weights": weights_of_heads(student, mask=CAUSAL.clone())}


@demonstration("the worked example")
def show_worked_example(student):
    return {"output": example(student)(TOKENS.clone())}


@demonstration("which group each head takes its values from")
def show_groups(student):
    return {
        "six heads, three groups": groups_of_heads(student, 6, 3).flatten(),
        "six heads, two groups": groups_of_heads(student, 6, 2).flatten(),
    }


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
