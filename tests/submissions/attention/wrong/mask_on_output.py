"""The first column of the mask sets rows of the output to zero; the scores are never masked."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    weights = torch.softmax(scores, dim=-1)
    output = weights @ value
    if mask is not None:
        if not mask.bool().any(dim=-1).all():
            raise ValueError("mask")
        query_ok = (mask != 0).expand(scores.shape)[..., :1]
        output = output.masked_fill(~query_ok, 0.0)
    return output, weights
