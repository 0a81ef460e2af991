"""A loop over the queries, each of which takes its own slice of keys and values."""

import torch


def sliding_window_attention(query, key, value, window):
    if window <= 0:
        raise ValueError("window must be positive")
    length, width = query.shape[-2:]
    rows, outputs = [], []
    for i in range(length):
        start = max(0, i - window + 1)
        q = query[..., i, :]
        scores = (key[..., start : i + 1, :] * q.unsqueeze(-2)).sum(-1) / width**0.5
        shares = torch.softmax(scores, dim=-1)
        outputs.append((shares.unsqueeze(-1) * value[..., start : i + 1, :]).sum(-2))
        before = shares.new_zeros(*shares.shape[:-1], start)
        after = shares.new_zeros(*shares.shape[:-1], length - i - 1)
        rows.append(torch.cat([before, shares, after], dim=-1))
    return torch.stack(outputs, dim=-2), torch.stack(rows, dim=-2)
