"""Public checks of `cached_mha`: the worked example of the handout. Read them, run them."""

import torch

from grader.suite import (
    CheckFailure,
    assert_close,
    assert_shape,
    check,
    demonstration,
    gradient_reach,
)

TOKENS = torch.tensor([[[1.0, 0.0], [0.0, 1.0], [2.0, 0.0]]])
PADDED = torch.tensor([[True, False, True]])
WANTED = torch.tensor([[[1.0, 0.0], [0.330, 0.670], [1.723, 0.045]]])

WIDE_TOKENS = torch.tensor([[[1.0, 0.0, 0.0, 1.0], [0.0, 2.0, 1.0, 0.0], [1.0, 1.0, 0.0, 3.0]]])
ALLOWED = torch.tensor([[True, True, False], [False, True, True], [True, False, True]])
EXAMPLE_MASK = torch.tensor([[True, False, False], [True, True, False], [True, False, True]])


def attention(student, embed_dim=2, num_heads=1, **options):
    """A module in which every projection leaves its input as it is."""
    module = student.CachedMultiHeadAttention(embed_dim=embed_dim, num_heads=num_heads, **options)
    names = ("W_q", "W_k", "W_v", "W_o")
    weights = {f"{name}.weight": torch.eye(embed_dim) for name in names}
    weights |= {f"{name}.bias": torch.zeros(embed_dim) for name in names}
    module.load_weights(weights)
    return module.eval()


def both(result):
    """(output, cache), as every call with use_cache has to return them."""
    pair = () if isinstance(result, torch.Tensor) or result is None else tuple(result)
    if len(pair) != 2 or not isinstance(pair[0], torch.Tensor):
        raise CheckFailure("With use_cache, forward has to return two things: (output, cache).")
    return pair


@check(
    "shape",
    points=1,
    title="The output is (B, T, C); a cache holds keys and values (B, H, S, D)",
    hint="Write the shape of each intermediate result beside its line. Which line changes them?",
)
def test_example_shapes(student):
    module = attention(student, embed_dim=4, num_heads=2)
    output, cache = both(module(WIDE_TOKENS, causal=True, use_cache=True))
    assert_shape(output, [("B", 1), ("T", 3), ("C", 4)], "output")
    for name in ("key", "value"):
        sizes = [("B", 1), ("H", 2), ("S", 3), ("D", 2)]
        assert_shape(getattr(cache, name), sizes, f"cache's {name}")
    assert_shape(cache.key_padding_mask, [("B", 1), ("S", 3)], "cache's key_padding_mask")


@check(
    "values",
    points=2,
    title="The worked example in one pass: the third output is (1.723, 0.045)",
    hint="Follow the handout's steps with your own numbers. Which is the first that differs?",
)
def test_worked_example(student):
    output = attention(student)(TOKENS, causal=True)
    assert_close(output, WANTED, "output", tol=(0.0, 1e-3))


@check(
    "cache",
    points=2,
    title="Two tokens, then one with their cache: the same three outputs as in one pass",
    hint="Which keys does the third token's query meet, and in which order?",
)
def test_worked_example_in_two_steps(student):
    module = attention(student)
    first, cache = both(module(TOKENS[:, :2], causal=True, use_cache=True))
    second, cache = both(module(TOKENS[:, 2:], causal=True, cache=cache, use_cache=True))
    whole = module(TOKENS, causal=True)
    words = "In two steps your module does not give what it gives in one pass."
    assert_close(torch.cat((first, second), dim=1), whole, "output", message=words)
    assert_close(cache.key, TOKENS[:, None], "cache's key")
    if int(cache.length) != 3:
        raise CheckFailure("After three tokens the cache's length has to be 3.")


def weights_of_heads(student, **rule):
    """(H, T, S): the weights of both heads, which values that are the identity show."""
    module = student.CachedMultiHeadAttention(embed_dim=6, num_heads=2)
    # The first three columns of the tokens are the identity, and become the values of both heads.
    eye = torch.eye(6)
    matrices = {"W_q": eye, "W_k": eye, "W_v": torch.cat([eye[:3], eye[:3]]), "W_o": eye}
    weights = {f"{name}.weight": matrix.clone() for name, matrix in matrices.items()}
    weights |= {f"{name}.bias": torch.zeros(6) for name in matrices}
    module.load_weights(weights)
    module.eval()
    tokens = torch.cat([torch.eye(3), torch.tensor([[1.0, 2, 0], [0, 1, 1], [2, 0, 1]])], dim=1)
    return module(tokens[None], **rule).reshape(3, 2, 3).transpose(0, 1)


@demonstration("the weights of both heads, read off where each value shows its place, causal")
def show_weights(student):
    return {"weights": weights_of_heads(student, causal=True)}


@demonstration("the weights of both heads under a mask", about=("mask",))
def show_weights_under_a_mask(student):
    return {"weights": weights_of_heads(student, attention_mask=ALLOWED)}


@demonstration("three tokens, causal")
def show_causal(student):
    return {"output": attention(student)(TOKENS, causal=True)}


@demonstration("a prompt of two tokens, then one")
def show_two_steps(student):
    module = attention(student)
    first, cache = both(module(TOKENS[:, :2], causal=True, use_cache=True))
    second, _ = both(module(TOKENS[:, 2:], causal=True, cache=cache, use_cache=True))
    return {"first output": first, "second output": second}


@demonstration("a prompt of one token, then two at once")
def show_chunk(student):
    module = attention(student)
    _, cache = both(module(TOKENS[:, :1], causal=True, use_cache=True))
    second, _ = both(module(TOKENS[:, 1:], causal=True, cache=cache, use_cache=True))
    return {"second output": second}


@demonstration("a prompt with padding", about=("mask",))
def show_padding(student):
    module = attention(student)
    masks = {"key_padding_mask": PADDED, "query_padding_mask": PADDED}
    output, cache = both(module(TOKENS, causal=True, use_cache=True, **masks))
    second, _ = both(module(TOKENS[:, 1:2], causal=True, cache=cache, use_cache=True))
    return {"output": output, "output of the next token": second}


@demonstration("two heads, no mask")
def show_heads(student):
    return {"output": attention(student, embed_dim=4, num_heads=2)(WIDE_TOKENS)}


@demonstration("two heads and a mask", about=("mask",))
def show_mask(student):
    module = attention(student, embed_dim=4, num_heads=2)
    return {"output": module(WIDE_TOKENS, attention_mask=ALLOWED)}


@demonstration("three tokens, causal, with RoPE")
def show_rope(student):
    module = attention(student, embed_dim=4, use_rope=True)
    return {"output": module(WIDE_TOKENS, causal=True)}


@demonstration("which inputs the gradient reaches", shows="reach")
def show_gradients(student):
    module = attention(student, embed_dim=4, num_heads=2)
    return gradient_reach(lambda tokens: module(tokens, causal=True), tokens=WIDE_TOKENS)
