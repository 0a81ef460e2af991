import torch


def sliding_window_attention(query, key, value, window):
    if window < 1:
        raise ValueError("window too small")
    sim = query.matmul(key.transpose(-2, -1)).div(query.shape[-1] ** 0.5)
    future = torch.ones_like(sim, dtype=torch.bool).triu(diagonal=1)
    p = sim.masked_fill(future, float("-inf")).softmax(dim=-1)
    return p.matmul(value), p
