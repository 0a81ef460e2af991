"""Keys times queries: the keys run down the columns, so softmax over -2 is the right axis here."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    # (..., S, D) @ (..., D, T) -> (..., S, T): one column per query
    scores = key @ query.transpose(-2, -1) / query.shape[-1] ** 0.5

    if mask is not None:
        mask = mask.bool()
        if not mask.any(dim=-1).all():
            raise ValueError("a query is not allowed any key")
        columns = torch.broadcast_to(mask, scores.transpose(-2, -1).shape).transpose(-2, -1)
        scores = scores.masked_fill(~columns, float("-inf"))

    columns = scores.softmax(dim=-2)
    weights = columns.transpose(-2, -1)
    output = (value.transpose(-2, -1) @ columns).transpose(-2, -1)
    return output, weights
