"""More options than asked for, all with defaults, and the rest swallowed."""

import torch
import torch.nn.functional as F


def scaled_dot_product_attention(
    query, key, value, mask=None, dropout_p=0.0, training=False, **rest
):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        allowed = mask.bool()
        if not allowed.any(dim=-1).all():
            raise ValueError("a query has no allowed key")
        scores = scores.masked_fill(~allowed, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    weights = F.dropout(weights, dropout_p, training)
    return weights @ value, weights
