import math

import torch


def sliding_window_attention(query, key, value, window):
    if window < 1:
        raise ValueError("window must hold a key")
    n = query.shape[-2]
    gap = torch.arange(n, device=query.device)[:, None] - torch.arange(n, device=query.device)
    seen = (gap >= 1) & (gap <= window)
    s = (query @ key.transpose(-2, -1)) / math.sqrt(query.shape[-1])
    w = torch.where(seen, s, -math.inf).softmax(dim=-1)
    return w @ value, w
