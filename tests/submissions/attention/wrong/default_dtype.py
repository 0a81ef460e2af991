"""Results are written into fresh tensors of the default dtype on the default device."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    T, S = query.shape[-2], key.shape[-2]
    scores = torch.zeros(*query.shape[:-2], T, S)
    for t in range(T):
        for s in range(S):
            scores[..., t, s] = (query[..., t, :] * key[..., s, :]).sum(-1)
    scores = scores / query.shape[-1] ** 0.5
    if mask is not None:
        if not mask.bool().any(dim=-1).all():
            raise ValueError("no key")
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value.to(weights.dtype)), weights
