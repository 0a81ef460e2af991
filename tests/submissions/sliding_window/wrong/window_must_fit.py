import math

import torch


def sliding_window_attention(query, key, value, window):
    length = query.shape[-2]
    if not 1 <= window <= length:
        raise ValueError(f"window {window} does not fit a sequence of {length}")
    s = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    i = torch.arange(length, device=s.device)
    out = (i > i[:, None]) | (i <= i[:, None] - window)
    w = s.masked_fill(out, -math.inf).softmax(-1)
    return w @ value, w
