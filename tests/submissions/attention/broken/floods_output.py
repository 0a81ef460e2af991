"""Right, but its first call writes a gigabyte: half by print, half to the descriptor."""

import os

import torch

flooded = False


def flood():
    megabyte = "all work and no play\n" * 50_000
    for _ in range(500):
        print(megabyte, end="")
    raw = megabyte.encode()
    for _ in range(500):
        left = raw
        while left:
            left = left[os.write(1, left) :]


def scaled_dot_product_attention(query, key, value, mask=None):
    global flooded
    if not flooded:
        flooded = True
        flood()
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        allowed = mask.bool()
        if not allowed.any(dim=-1).all():
            raise ValueError("a query has no allowed key")
        scores = scores.masked_fill(~allowed, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights
