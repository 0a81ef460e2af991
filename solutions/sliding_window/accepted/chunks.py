"""Queries in chunks of W, each of which meets its own keys and those of the chunk before."""

import math

import torch


def sliding_window_attention(query, key, value, window):
    if window < 1:
        raise ValueError("the window is empty")
    length = query.shape[-2]
    outputs, rows = [], []
    for start in range(0, length, window):
        stop, first = min(start + window, length), max(start - window, 0)
        scores = query[..., start:stop, :] @ key[..., first:stop, :].transpose(-2, -1)
        i = torch.arange(start, stop, device=query.device).unsqueeze(1)
        j = torch.arange(first, stop, device=query.device)
        hidden = (j > i) | (j < i - window + 1)
        scores = (scores / math.sqrt(query.shape[-1])).masked_fill(hidden, -math.inf)
        weights = scores.softmax(dim=-1)
        outputs.append(weights @ value[..., first:stop, :])
        rows.append(torch.nn.functional.pad(weights, (first, length - stop)))
    return torch.cat(outputs, dim=-2), torch.cat(rows, dim=-2)
