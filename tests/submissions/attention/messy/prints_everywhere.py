"""Prints at import, at each call, on both streams."""

import sys

import torch

print("hello from attention.py", torch.__version__)


def scaled_dot_product_attention(query, key, value, mask=None):
    print("query", query.shape, "key", key.shape, "value", value.shape)
    print("DEBUG mask:", None if mask is None else tuple(mask.shape), file=sys.stderr)
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    print(scores)
    if mask is not None:
        if not mask.bool().any(dim=-1).all():
            print("!!! empty row", flush=True)
            raise ValueError("empty row")
        scores = scores.masked_fill(mask == 0, float("-inf"))
        print("after masking", scores, sep="\n")
    weights = torch.softmax(scores, dim=-1)
    print("sums:", weights.sum(-1), end="\r\x1b[31m done \x1b[0m\n")
    return weights @ value, weights


print(*scaled_dot_product_attention(torch.eye(2), torch.eye(2), torch.eye(2)), sep="\n")
