"""Public checks of `transformer`: the worked example of the handout. Read them, run them."""

import torch

from grader.suite import CheckFailure, assert_close, assert_shape, check, demonstration

X = torch.tensor([[[2.0, -2.0, 2.0, -2.0], [3.0, 3.0, -3.0, -3.0]]])
CAUSAL = torch.tensor([[[3.0, -3.0, 3.0, -3.0], [4.0, 3.0, -3.0, -4.0]]])
OTHER_ONE = torch.tensor([[False, True], [True, False]])
LOOKS_AT_OTHER = torch.tensor([[[3.0, -1.0, 1.0, -3.0], [4.0, 2.0, -2.0, -4.0]]])
TOKENS = torch.tensor([[0, 3, 1, 2]])
SIZES = {"embed_dim": 4, "num_heads": 2, "ffn_dim": 3}
OTHERS = torch.tensor([[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 0, 0], [0, 0, 1, 1]]).bool()
# A column that is always 1, three that differ, and four that tell each token's place. All rows have
# the mean 0 and the variance 2.
PLACES = torch.tensor(
    [
        [
            [1.0, 1.0, -1.0, -1.0, 3.0, -1.0, -1.0, -1.0],
            [1.0, -1.0, 1.0, -1.0, -1.0, 3.0, -1.0, -1.0],
            [1.0, -1.0, -1.0, 1.0, -1.0, -1.0, 3.0, -1.0],
            [1.0, 1 / 3, 1 / 3, -5 / 3, -1.0, -1.0, -1.0, 3.0],
        ]
    ]
)


def example_block(student):
    """The block of the worked example: it adds the plain average of the normed tokens it sees."""
    return block_with(student, SIZES, W_v=torch.eye(4), W_o=torch.eye(4))


def block_with(student, sizes, **matrices):
    """A block with these matrices for attention, and zeros for the others and for ``ffn``."""
    block = student.TransformerBlock(**sizes).eval()
    with torch.no_grad():
        attention = {}
        for name, parameter in block.named_parameters():
            is_norm = name.startswith("norm") and not name.endswith("bias")
            parameter.fill_(1.0 if is_norm else 0.0)
            if name.startswith("attention."):
                attention[".".join(name.split(".")[-2:])] = parameter
                attention[name.split(".")[-1]] = parameter
        if "in_proj_weight" in attention:
            for part, name in enumerate(("W_q", "W_k", "W_v")):
                if name in matrices:
                    attention["in_proj_weight"].chunk(3)[part].copy_(matrices[name])
            attention["out_proj.weight"].copy_(matrices["W_o"])
        elif "W_v.weight" in attention:
            for name, matrix in matrices.items():
                attention[f"{name}.weight"].copy_(matrix)
        else:
            raise CheckFailure(
                "The example needs a part called attention: nn.MultiheadAttention, or a module of "
                "yours with W_q, W_k, W_v and W_o."
            )
    return block


def small_model(student):
    """A model with four tokens, random weights and room for four positions."""
    model = student.TransformerLM(
        vocab_size=5, embed_dim=6, num_heads=2, num_layers=3, ffn_dim=7, max_length=4
    ).eval()
    generator = torch.Generator().manual_seed(0)
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return model


@check(
    "shape",
    points=1,
    title="A block gives back the shape of x; a model gives one logit a token of the vocabulary",
    hint="Write the shape of each intermediate result beside its line.",
)
def test_example_shapes(student):
    block = student.TransformerBlock(embed_dim=6, num_heads=2, ffn_dim=7)
    assert_shape(block(torch.ones(1, 4, 6)), [("B", 1), ("T", 4), ("C", 6)], "output")
    assert_shape(small_model(student)(TOKENS), [("B", 1), ("T", 4), ("V", 5)], "logits")


@check(
    "causal-leak",
    points=2,
    title="The worked example: a causal block adds the average of what each token sees",
    hint="Which normed tokens does the first token see, and which the second? Average them.",
)
def test_worked_example(student):
    assert_close(example_block(student)(X), CAUSAL, "output", tol=(0.0, 1e-3))


@check(
    "mask",
    points=2,
    title="The worked example with a mask: each token sees the other one only",
    hint="What does True mean in this course, and what in attn_mask of nn.MultiheadAttention?",
)
def test_only_the_other_token(student):
    output = example_block(student)(X, mask=OTHER_ONE)
    assert_close(output, LOOKS_AT_OTHER, "output", tol=(0.0, 1e-3))


@check(
    "values",
    points=1,
    title="With every parameter of attention and ffn zero, a block gives back x",
    hint="What is left of your block if both parts add 0?",
)
def test_silent_block(student):
    block = student.TransformerBlock(**SIZES).eval()
    with torch.no_grad():
        for name, parameter in block.named_parameters():
            if name.startswith(("attention.", "ffn.")):
                parameter.zero_()
    assert_close(block(X, mask=OTHER_ONE), X, "output")


@demonstration("two tokens")
def show_two_tokens(student):
    return {"output": example_block(student)(X)}


@demonstration("two tokens and a mask", about=("mask",))
def show_mask(student):
    return {"output": example_block(student)(X, mask=OTHER_ONE)}


def weights(student, **mask):
    """(H, T, S): what each head of a block reads, where the values are the tokens' places."""
    spread = (2.0 + 1e-5) ** 0.5  # of a row, as nn.LayerNorm takes it
    places = torch.zeros(4, 8)
    places[:, 0] = 1.0
    places[:, 4:] = torch.eye(4)
    block = block_with(
        student,
        {"embed_dim": 8, "num_heads": 2, "ffn_dim": 3},
        W_q=torch.eye(8).roll(1, 0),
        W_k=torch.eye(8),
        W_v=torch.cat((places, places)) * spread / 4,
        W_o=torch.eye(8),
    )
    return (block(PLACES, **mask) - PLACES)[0].reshape(4, 2, 4).transpose(0, 1)


@demonstration(
    "the weights of both heads, read off where each value shows its place",
    about=("row-sum", "wrong-axis", "causal-leak"),
)
def show_weights(student):
    return {"weights": weights(student)}


@demonstration("the weights of both heads with a mask", about=("mask",))
def show_weights_with_a_mask(student):
    return {"weights": weights(student, mask=OTHERS.clone())}


@demonstration("which logits move")
def show_which_logits_move(student):
    """Row i, column j: 1 if the logits after token i move when token j is changed."""
    model = small_model(student)
    with torch.no_grad():
        before = model(TOKENS)
        moved = []
        for place in range(4):
            changed = TOKENS.clone()
            changed[0, place] = 4
            moved.append((model(changed) - before)[0].abs().amax(-1) > 1e-4)
    return {"moves": torch.stack(moved, dim=1).float()}
