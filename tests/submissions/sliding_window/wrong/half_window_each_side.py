import math

import torch


def sliding_window_attention(query, key, value, window):
    if window < 1:
        raise ValueError("window")
    n = query.shape[-2]
    half = window // 2
    rows = []
    for t in range(n):
        lo, hi = max(0, t - half), min(n, t + half + 1)
        s = (query[..., t : t + 1, :] @ key[..., lo:hi, :].transpose(-2, -1)) / math.sqrt(
            query.shape[-1]
        )
        w = torch.softmax(s, dim=-1)
        rows.append(torch.nn.functional.pad(w, (lo, n - hi)))
    weights = torch.cat(rows, dim=-2)
    return weights @ value, weights
