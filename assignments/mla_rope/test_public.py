"""Public checks of `mla_rope`: the worked example of the handout. Read them, run them."""

import torch

from grader.suite import (
    CheckFailure,
    assert_close,
    assert_shape,
    check,
    demonstration,
    gradient_reach,
)

EXAMPLE_SIZES = {
    "embed_dim": 2,
    "num_heads": 1,
    "head_dim": 1,
    "rope_dim": 2,
    "q_latent_dim": 1,
    "kv_latent_dim": 1,
}
EXAMPLE_WEIGHTS = {
    "W_DQ": [[1.0, 1.0]],
    "W_UQ": [[1.0]],
    "W_QR": [[1.0], [0.0]],
    "W_DKV": [[1.0, 2.0]],
    "W_UK": [[1.0]],
    "W_UV": [[10.0]],
    "W_KR": [[1.0, 0.0], [0.0, 1.0]],
    "W_o": [[1.0], [0.5]],
}
# The first token may see both, as far as a mask can allow that; the second itself.
OWN_AND_LATER = torch.tensor([[True, True], [False, True]])
FOUR_MASK = torch.tensor([[1, 1, 1, 1], [1, 1, 1, 1], [1, 0, 1, 1], [0, 1, 0, 1]]).bool()
TWO_HEADS_SIZES = {
    "embed_dim": 6,
    "num_heads": 2,
    "head_dim": 3,
    "rope_dim": 4,
    "q_latent_dim": 5,
    "kv_latent_dim": 7,
}
TWO_HEADS_SHAPES = {
    "W_DQ": (5, 6),
    "W_UQ": (6, 5),
    "W_QR": (8, 5),
    "W_DKV": (7, 6),
    "W_UK": (6, 7),
    "W_UV": (6, 7),
    "W_KR": (4, 6),
    "W_o": (6, 6),
}


def with_weights(student, sizes, matrices):
    """A module with these matrices, and zeros for the biases it should not have."""
    module = student.RotaryMultiHeadLatentAttention(**sizes)
    weights = {f"{name}.weight": torch.as_tensor(matrix) for name, matrix in matrices.items()}
    biases = {f"{name}.bias": torch.zeros(len(matrix)) for name, matrix in matrices.items()}
    module.load_weights(weights | biases)
    return module


def example_module(student):
    return with_weights(student, EXAMPLE_SIZES, EXAMPLE_WEIGHTS)


def two_heads_module(student):
    return with_weights(student, TWO_HEADS_SIZES, sines(TWO_HEADS_SHAPES))


def sines(shapes):
    """Matrices of sines of whole numbers, so that anybody can make them again."""
    matrices = {}
    for place, (name, (rows, columns)) in enumerate(shapes.items()):
        numbers = 100 * place + torch.arange(1.0, 1.0 + rows * columns)
        matrices[name] = numbers.sin().reshape(rows, columns)
    return matrices


def example_tokens():
    """(1, 2, 2): the tokens [1, 0] and [0, 1]."""
    return torch.eye(2)[None]


def four_tokens():
    """(1, 4, 6): the cosines of 1, 2, 3, ..."""
    return torch.arange(1.0, 25.0).cos().reshape(1, 4, 6)


def pair(thing, words):
    """The two items of a tuple, a list or a named tuple."""
    if not isinstance(thing, tuple | list) and not getattr(thing, "is_sequence", False):
        raise CheckFailure(words)
    items = list(thing)
    if len(items) != 2:
        raise CheckFailure(words)
    return items


def cached(module, x, **options):
    """Output and cache of a call with use_cache=True."""
    with torch.no_grad():
        result = module(x, use_cache=True, **options)
    return pair(result, "With use_cache=True, return the pair of the output and the cache.")


def latents(cache):
    """c_kv and k_rope."""
    return pair(cache, "The cache has to be the pair (c_kv, k_rope).")


@check(
    "shape",
    points=1,
    title="The output has the shape of x",
    hint="Which matrix brings the heads' H x D columns back to C?",
)
def test_example_shape(student):
    output = two_heads_module(student)(four_tokens())
    if not isinstance(output, torch.Tensor):
        raise CheckFailure("Without use_cache, return the output alone.")
    assert_shape(output, {"B": 1, "T": 4, "C": 6}, "output")


@check(
    "values",
    points=2,
    title="The worked example: the outputs [10, 5] and [15.66, 7.83]",
    hint="Follow the handout's table with your own numbers. Which line is the first that differs?",
)
def test_worked_example(student):
    output = example_module(student)(example_tokens())
    if not isinstance(output, torch.Tensor):
        raise CheckFailure("Without use_cache, return the output alone.")
    wanted = torch.tensor([[[10.0, 5.0], [15.660, 7.830]]])
    assert_close(output, wanted, "output", tol=(0.0, 1e-2))


@check(
    "cache",
    points=2,
    title="Of the worked example: the cache holds the latents 1, 2 and the turned rotary keys",
    hint="Are the rotary keys in your cache turned already? Are the latents those of equation 5?",
)
def test_example_cache(student):
    output, cache = cached(example_module(student), example_tokens())
    c_kv, k_rope = latents(cache)
    assert_close(c_kv, torch.tensor([[[1.0], [2.0]]]), "c_kv")
    wanted = torch.tensor([[[1.0, 0.0], [-0.8415, 0.5403]]])
    assert_close(k_rope, wanted, "k_rope", tol=(0.0, 1e-3))
    assert_shape(output, {"B": 1, "T": 2, "C": 2}, "output")


@check(
    "cache",
    points=1,
    title="Of the worked example: one token, then the other with the cache, give the same outputs",
    hint="What position has the second token, if the cache holds one already?",
)
def test_example_in_two_steps(student):
    module, tokens = example_module(student), example_tokens()
    first, cache = cached(module, tokens[:, :1])
    second, _ = cached(module, tokens[:, 1:], cache=cache)
    wanted = torch.tensor([[[10.0, 5.0], [15.660, 7.830]]])
    assert_close(torch.cat((first, second), dim=1), wanted, "output", tol=(0.0, 1e-2))


@demonstration("the worked example")
def show_worked_example(student):
    output, cache = cached(example_module(student), example_tokens())
    c_kv, k_rope = latents(cache)
    return {"c_kv": c_kv, "k_rope": k_rope, "output": output}


def weights(student, **mask):
    """(H, T, S): the weights of both heads, which values that tell the tokens' places show."""
    sizes = {"embed_dim": 8, "num_heads": 2, "head_dim": 4, "rope_dim": 2}
    sizes |= {"q_latent_dim": 5, "kv_latent_dim": 8}
    shapes = {"W_DQ": (5, 8), "W_UQ": (8, 5), "W_QR": (4, 5), "W_UK": (8, 8), "W_KR": (2, 8)}
    places = torch.zeros(4, 8)
    places[:, 4:] = torch.eye(4)
    matrices = sines(shapes)
    matrices |= {"W_DKV": torch.eye(8), "W_UV": torch.cat((places, places)), "W_o": torch.eye(8)}
    tokens = torch.cat((four_tokens()[..., :4], torch.eye(4)[None]), dim=-1)
    output = with_weights(student, sizes, matrices)(tokens, **mask)
    return output[0].reshape(4, 2, 4).transpose(0, 1)


@demonstration(
    "the weights of both heads, read off where each value shows its place",
    about=("row-sum", "wrong-axis", "causal-leak"),
)
def show_weights(student):
    return {"weights": weights(student)}


@demonstration("the weights of both heads with a mask", about=("mask",))
def show_weights_with_a_mask(student):
    return {"weights": weights(student, mask=FOUR_MASK.clone())}


@demonstration("the worked example, one token and then the other")
def show_worked_example_in_two_steps(student):
    module, tokens = example_module(student), example_tokens()
    first, cache = cached(module, tokens[:, :1])
    second, cache = cached(module, tokens[:, 1:], cache=cache)
    c_kv, k_rope = latents(cache)
    return {"c_kv": c_kv, "k_rope": k_rope, "output": torch.cat((first, second), dim=1)}


@demonstration("the worked example with a mask", about=("mask",))
def show_worked_example_with_a_mask(student):
    return {"output": example_module(student)(example_tokens(), mask=OWN_AND_LATER)}


@demonstration("two heads and four tokens")
def show_two_heads(student):
    return {"output": two_heads_module(student)(four_tokens())}


@demonstration("two heads, three tokens and then a fourth")
def show_two_steps(student):
    module, tokens = two_heads_module(student), four_tokens()
    _, cache = cached(module, tokens[:, :3])
    output, cache = cached(module, tokens[:, 3:], cache=cache)
    c_kv, k_rope = latents(cache)
    return {"c_kv": c_kv, "k_rope": k_rope, "output of the fourth": output}


@demonstration("two heads, four tokens and a mask", about=("mask",))
def show_mask(student):
    return {"output": two_heads_module(student)(four_tokens(), mask=FOUR_MASK.clone())}


@demonstration("which inputs the gradient reaches", shows="reach")
def show_gradients(student):
    return gradient_reach(two_heads_module(student), tokens=four_tokens())
