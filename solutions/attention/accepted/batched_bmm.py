"""All leading axes are folded into one; baddbmm scales, multiplies and adds the mask at once."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    *lead, T, D = query.shape
    S, Dv = value.shape[-2:]
    N = torch.Size(lead).numel()

    bias = query.new_zeros(1, 1, 1)
    if mask is not None:
        allowed = mask.bool()
        if not allowed.any(dim=-1).all():
            raise ValueError("mask leaves a query without keys")
        bias = query.new_zeros(mask.shape).masked_fill(~allowed, float("-inf"))
        bias = bias.expand(*lead, T, S).reshape(N, T, S)

    q = query.reshape(N, T, D)
    k = key.reshape(N, S, D)
    v = value.reshape(N, S, Dv)

    scores = torch.baddbmm(bias.expand(N, T, S), q, k.transpose(1, 2), alpha=D**-0.5)
    weights = scores.softmax(dim=2)
    output = torch.bmm(weights, v)
    return output.view(*lead, T, Dv), weights.view(*lead, T, S)
