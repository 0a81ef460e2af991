"""The outputs of the batch come back in reverse order."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        if not mask.bool().any(dim=-1).all():
            raise ValueError("no key")
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    if query.dim() == 2:
        return weights @ value, weights
    outputs = []
    for w, v in zip(weights, value):
        outputs.insert(0, w @ v)
    return torch.stack(outputs), weights
