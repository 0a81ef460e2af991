"""What the checks of `cached_mha` share: modules with known weights, decoding in chunks, reading.

Every size is distinct: B 2, H 3, D 8, T 5, S 7. The weights of attention are not returned; they are
read from outside. A tagged token's last D columns say which position it has, and reading weights
make exactly these columns the values of every head, so that the output shows who looked where.
"""

from typing import NamedTuple

import torch

from grader.suite import CheckFailure, assert_shape

B, H, D, T, S = 2, 3, 8, 5, 7
C = H * D
NAMES = ("W_q", "W_k", "W_v", "W_o")
CHUNKS = [[1, 1, 1, 1, 1, 1], [2, 2, 2], [3, 3], [1, 2, 3], [3, 2, 1], [4, 1, 1]]
LENGTH = 6


class Held(NamedTuple):
    """What a cache holds."""

    key: torch.Tensor
    value: torch.Tensor
    key_padding_mask: torch.Tensor
    length: int


def random_weights(draw, width=C):
    """A matrix for each name; queries and keys large enough for weights far from uniform."""
    return {
        "W_q": draw.normal(width, width, std=1.5 * width**-0.5),
        "W_k": draw.normal(width, width, std=1.5 * width**-0.5),
        "W_v": draw.normal(width, width, std=width**-0.5),
        "W_o": draw.normal(width, width, std=width**-0.5),
    }


def linear_weights(draw):
    """A matrix for each name at the scale that nn.Linear starts with."""
    return {name: draw.linear(C, C) for name in NAMES}


def reading_weights(draw):
    """Weights whose output shows, head by head, the weights of attention over tagged tokens."""
    columns = torch.arange(C - D, C).repeat(H)
    return linear_weights(draw) | {"W_v": torch.eye(C)[columns], "W_o": torch.eye(C)}


def tagged(draw, batch, length):
    """Tokens (batch, length, C), at most D, each with its position in the last D columns."""
    tags = torch.eye(D)[:length].expand(batch, length, D)
    return torch.cat((draw.normal(batch, length, C - D), tags), dim=-1)


def shown(output, keys):
    """The weights (B, H, T, S) that an output for reading weights shows."""
    batch, queries = output.shape[:2]
    assert_shape(output, [("B", batch), ("T", queries), ("C", C)], "output")
    return output.detach().unflatten(-1, (H, D)).transpose(1, 2)[..., :keys]


def module(
    owner, weights, *, embed_dim=C, num_heads=H, dtype=torch.float32, output_bias=None, **options
):
    """A module of the student's or of the reference, in eval, with these weights.

    Biases are zero but for that of W_o, where one is given.
    """
    made = owner.CachedMultiHeadAttention(embed_dim=embed_dim, num_heads=num_heads, **options)
    if dtype != torch.float32:
        made.to(dtype)
    zeros = torch.zeros(embed_dim, dtype=dtype)
    named = {f"{name}.weight": weights[name].to(dtype) for name in NAMES}
    named |= {f"{name}.bias": zeros for name in NAMES}
    if output_bias is not None:
        named["W_o.bias"] = output_bias.to(dtype)
    made.load_weights(named)
    return made.eval()


def run(attention, *tokens, **options):
    """The output of a call that asks for no cache."""
    result = attention(*tokens, **options)
    if not isinstance(result, torch.Tensor):
        raise CheckFailure("Without use_cache, forward has to return the output and nothing else.")
    return result


def step(attention, *tokens, **options):
    """Output and cache of a call that asks for a cache."""
    result = attention(*tokens, use_cache=True, **options)
    is_sequence = isinstance(result, tuple | list) or getattr(result, "is_sequence", False) is True
    pair = list(result) if is_sequence else []
    if len(pair) != 2 or not isinstance(pair[0], torch.Tensor):
        raise CheckFailure("With use_cache, forward has to return two things: (output, cache).")
    if pair[1] is None or isinstance(pair[1], torch.Tensor):
        raise CheckFailure("With use_cache, the second thing you return has to be a KVCache.")
    return pair[0], pair[1]


def read(cache):
    """What ``cache`` holds, as it is now."""
    found = {}
    for name in Held._fields:
        try:
            found[name] = getattr(cache, name)
        except AttributeError:
            raise CheckFailure(f"The cache that you return has no {name}.") from None
    for name in ("key", "value", "key_padding_mask"):
        if not isinstance(found[name], torch.Tensor):
            raise CheckFailure(f"The {name} of your cache has to be a tensor.")
    length = found["length"]
    if isinstance(length, torch.Tensor) and length.numel() == 1:
        length = length.item()
    if not isinstance(length, int):
        raise CheckFailure("The length of your cache has to be a whole number.")
    return Held(**{**found, "length": length})


def decode(attention, x, chunks, *, cache=None, valid=None, zeroed=False, mask=None, causal=True):
    """Feed ``x`` (B, L, C) in chunks of these sizes; returns the outputs side by side, and caches.

    ``valid`` (B, L) are the tokens, ``mask`` (..., L, L) is cut to what each chunk can see, and
    ``zeroed`` passes the tokens as the queries' padding mask too.
    """
    outputs, caches, start = [], [], 0
    with torch.no_grad():
        for size in chunks:
            stop = start + size
            options = {"causal": causal}
            if cache is not None:
                options["cache"] = cache
            if valid is not None:
                options["key_padding_mask"] = valid[:, start:stop].contiguous()
            if zeroed:
                options["query_padding_mask"] = valid[:, start:stop].contiguous()
            if mask is not None:
                options["attention_mask"] = mask[..., start:stop, :stop].contiguous()
            output, cache = step(attention, x[:, start:stop].contiguous(), **options)
            outputs.append(output)
            caches.append(cache)
            start = stop
    for output, size in zip(outputs, chunks, strict=True):
        assert_shape(output, [("B", len(x)), ("T", size), ("C", x.shape[-1])], "output")
    return torch.cat(outputs, dim=1), caches


def ragged(draw):
    """Which of (B, LENGTH) are tokens: each row starts with one and has gaps of its own."""
    valid = draw.mask(B, LENGTH, allowed=0.7)
    valid[:, 0] = True
    valid[0, 2] = valid[1, 4] = False
    valid[1, 2] = valid[0, 4] = True
    return valid


def halves_as_pairs(matrix):
    """Rows of a W_q or W_k so ordered that turning adjacent columns does what turning column i
    with column i + D/2 does to ``matrix``."""
    order = torch.arange(D).view(2, D // 2).t().flatten()
    return matrix.unflatten(0, (H, D))[:, order].flatten(0, 1)
