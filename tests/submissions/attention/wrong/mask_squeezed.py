"""The mask loses its axes of size 1 and then lines up with the wrong ones."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        keep = mask.bool().squeeze()
        if not keep.any(dim=-1).all():
            raise ValueError("nothing left")
        scores = scores.masked_fill(~keep, -1e9)
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights
