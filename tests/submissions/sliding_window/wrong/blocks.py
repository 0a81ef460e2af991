"""Works on one block of the sequence after another."""

import math

import torch


def sliding_window_attention(query, key, value, window):
    if window < 1:
        raise ValueError("need a positive window")
    n = query.shape[-2]
    weights = query.new_zeros(*query.shape[:-1], n)
    outs = []
    rows = []
    for a in range(0, n, window):
        b = min(a + window, n)
        s = query[..., a:b, :] @ key[..., a:b, :].transpose(-2, -1) / math.sqrt(query.shape[-1])
        s = s.masked_fill(torch.ones_like(s, dtype=torch.bool).triu(1), -math.inf)
        w = s.softmax(-1)
        outs.append(w @ value[..., a:b, :])
        rows.append(torch.cat([weights[..., a:b, :a], w, weights[..., a:b, b:]], -1))
    return torch.cat(outs, -2), torch.cat(rows, -2)
