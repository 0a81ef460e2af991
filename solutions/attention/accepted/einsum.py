"""Both products are written as einsum, so nothing is ever transposed."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.einsum("...td,...sd->...ts", query, key) / query.shape[-1] ** 0.5
    if mask is not None:
        allowed = mask.to(torch.bool)
        if not allowed.any(-1).all():
            raise ValueError("some query may not look at any key")
        scores = scores.masked_fill(~allowed, -torch.inf)
    weights = scores.softmax(-1)
    return torch.einsum("...ts,...sv->...tv", weights, value), weights
