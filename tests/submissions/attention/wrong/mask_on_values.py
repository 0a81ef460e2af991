"""The values of blocked keys are left out, but the weights never hear of the mask."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    weights = torch.softmax(scores, dim=-1)
    if mask is None:
        return weights @ value, weights
    keep = mask != 0
    if not keep.any(dim=-1).all():
        raise ValueError("no key to look at")
    # one copy of the values for each query, with zeros where the key is blocked
    seen = value.unsqueeze(-3) * keep.expand(scores.shape).unsqueeze(-1)
    output = (weights.unsqueeze(-1) * seen).sum(dim=-2)
    return output, weights
