"""Softmax is written out: subtract the largest score of the row, exponentiate, normalise."""

import torch


def softmax_rows(x):
    # The shift cancels in the ratio, so no gradient needs to go through it.
    shift = x.detach().max(dim=-1, keepdim=True).values
    e = torch.exp(x - shift)
    return e / e.sum(dim=-1, keepdim=True)


def scaled_dot_product_attention(query, key, value, mask=None):
    similarity = query @ key.transpose(-2, -1)
    similarity = similarity / (key.shape[-1] ** 0.5)

    if mask is not None:
        blocked = mask == 0
        if blocked.all(dim=-1).any():
            raise ValueError("fully masked query")
        similarity = similarity.masked_fill(blocked, float("-inf"))

    attention_weights = softmax_rows(similarity)
    context = attention_weights @ value
    return context, attention_weights
