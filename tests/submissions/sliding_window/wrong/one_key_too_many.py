import math

import torch


def sliding_window_attention(query, key, value, window):
    if window < 1:
        raise ValueError("window must be at least 1")
    T = query.size(-2)
    scores = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(query.size(-1))
    mask = torch.ones(T, T, dtype=torch.bool, device=query.device)
    mask = torch.tril(mask) & torch.triu(mask, diagonal=-window)
    scores = scores.masked_fill(mask == 0, float("-inf"))
    attn = torch.softmax(scores, dim=-1)
    return torch.matmul(attn, value), attn
