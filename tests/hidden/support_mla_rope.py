"""What the checks of `mla_rope` share: modules with known weights, and calls of them.

All widths are distinct: embed_dim 16, H 3, head_dim 6, rope_dim 4, q_latent_dim 11, kv_latent_dim
9, so that 10 is the width of a query, 12 that of all rotary queries, 13 that of the cache, 18 that
of all heads; B 2, T 5, S 8.
"""

import torch

from grader.suite import CheckFailure, assert_shape

USUAL = {
    "embed_dim": 16,
    "num_heads": 3,
    "head_dim": 6,
    "rope_dim": 4,
    "q_latent_dim": 11,
    "kv_latent_dim": 9,
}
OTHER = {
    "embed_dim": 14,
    "num_heads": 2,
    "head_dim": 5,
    "rope_dim": 6,
    "q_latent_dim": 9,
    "kv_latent_dim": 7,
}
B, T, S = 2, 5, 8
C, H, D, R, Q, KV = USUAL.values()


def shapes(size):
    """(outputs, inputs) of each matrix."""
    embed, heads, width, rope, q_latent, kv_latent = size.values()
    return {
        "W_DQ": (q_latent, embed),
        "W_UQ": (heads * width, q_latent),
        "W_QR": (heads * rope, q_latent),
        "W_DKV": (kv_latent, embed),
        "W_UK": (heads * width, kv_latent),
        "W_UV": (heads * width, kv_latent),
        "W_KR": (rope, embed),
        "W_o": (embed, heads * width),
    }


def drawn(draw, size=USUAL, *, gain=3**0.5, dtype=torch.float32):
    """Random matrices; with the default gain a projection keeps the variance of its input."""
    return {name: (gain * draw.linear(*shape)).to(dtype) for name, shape in shapes(size).items()}


def loaded(module_class, matrices, size=USUAL, *, dtype=torch.float32):
    """A module with these matrices, and zeros for the biases it should not have."""
    module = module_class.RotaryMultiHeadLatentAttention(**size)
    if dtype != torch.float32:
        module.to(dtype)
    weights = {f"{name}.weight": matrix for name, matrix in matrices.items()}
    biases = {f"{name}.bias": torch.zeros(len(matrices[name]), dtype=dtype) for name in matrices}
    module.load_weights(weights | biases)
    return module


def attend(module, x, mask=None):
    """The output of one pass without a cache.

    Inputs are copies here and below: a module that writes into them is told so by one check.
    """
    options = {} if mask is None else {"mask": mask.clone()}
    with torch.no_grad():
        output = module(x.clone(), **options)
    if not isinstance(output, torch.Tensor):
        raise CheckFailure("Without use_cache, the output alone has to be returned, one tensor.")
    return output


def attend_and_cache(module, x, cache=None, mask=None):
    """Output and new cache of a pass with use_cache."""
    options = {} if mask is None else {"mask": mask.clone()}
    if cache is not None:
        options["cache"] = copied(cache)
    with torch.no_grad():
        result = module(x.clone(), use_cache=True, **options)
    items = list(result) if is_sequence(result) else None
    if items is None or len(items) != 2 or not isinstance(items[0], torch.Tensor):
        raise CheckFailure("With use_cache, the pair (output, cache) has to be returned.")
    return items[0], items[1]


def is_sequence(thing):
    """Whether it is a tuple, a list, or a named tuple of the student's."""
    return isinstance(thing, tuple | list) or getattr(thing, "is_sequence", False) is True


def copied(cache):
    """A copy of a cache made of tensors; a named tuple of the student's stays where it is."""
    if isinstance(cache, tuple | list):
        items = [item.clone() if isinstance(item, torch.Tensor) else item for item in cache]
        return items if isinstance(cache, list) else tuple(items)
    return cache


def latents(cache, batch=B, length=T, size=USUAL):
    """c_kv and k_rope of a cache, which holds these two and nothing else."""
    if not is_sequence(cache):
        raise CheckFailure("The cache has to be a tuple of two tensors, (c_kv, k_rope).")
    items = list(cache)
    if len(items) != 2 or not all(isinstance(item, torch.Tensor) for item in items):
        raise CheckFailure("The cache has to hold exactly two tensors, c_kv and k_rope.")
    c_kv, k_rope = items
    kv_latent, rope = size["kv_latent_dim"], size["rope_dim"]
    if c_kv.shape == (batch, length, rope) and k_rope.shape == (batch, length, kv_latent):
        raise CheckFailure("c_kv and k_rope are exchanged in your cache: c_kv comes first.")
    assert_shape(c_kv, [("B", batch), ("S", length), ("kv_latent_dim", kv_latent)], "c_kv")
    assert_shape(k_rope, [("B", batch), ("S", length), ("rope_dim", rope)], "k_rope")
    return c_kv, k_rope


def in_chunks(module, x, chunks, mask=None):
    """Output of x fed piece by piece, sizes as in ``chunks``, the last one repeated."""
    outputs, cache, done = [], None, 0
    sizes = [*chunks, *[chunks[-1]] * x.shape[1]]
    while done < x.shape[1]:
        piece = x[:, done : done + sizes[len(outputs)]]
        seen = done + piece.shape[1]
        rows = None if mask is None else mask[..., done:seen, :seen]
        output, cache = attend_and_cache(module, piece, cache, rows)
        assert_output(output, piece)
        outputs.append(output)
        done = seen
    return torch.cat(outputs, dim=1)


def assert_output(output, x):
    """``output`` has the shape of ``x``."""
    batch, length, embed = x.shape
    assert_shape(output, [("B", batch), ("T", length), ("C", embed)], "output")


def largest(difference):
    """The largest absolute number."""
    return float(difference.detach().abs().max())
