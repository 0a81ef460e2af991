"""`exp_` and then `/=` overwrite what autograd kept, so backward raises."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        if not mask.bool().any(dim=-1).all():
            raise ValueError("no key")
        scores = scores.masked_fill(mask == 0, float("-inf"))
    scores = scores - scores.amax(dim=-1, keepdim=True)
    scores.exp_()
    scores /= scores.sum(dim=-1, keepdim=True)
    return scores @ value, scores
