"""A query that may see nothing looks at everything equally."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) * query.shape[-1] ** -0.5
    if mask is not None:
        lowest = torch.finfo(scores.dtype).min
        scores = scores.masked_fill(mask == 0, lowest)
    weights = scores.softmax(dim=-1)
    return weights @ value, weights
