"""Softmax by hand; the mask is made with where, in float32 for short dtypes."""

import torch


def sliding_window_attention(query, key, value, window):
    if not window >= 1:
        raise ValueError("W >= 1, please")
    dtype = query.dtype
    work = torch.float64 if dtype == torch.float64 else torch.float32
    q, k = query.to(work), key.to(work)
    s = torch.matmul(q, k.mT).div(q.size(-1) ** 0.5)
    i = torch.arange(s.size(-1), device=s.device)
    outside = torch.logical_or(i[None, :] > i[:, None], i[None, :] <= i[:, None] - window)
    s = torch.where(outside, float("-inf"), s)
    e = torch.exp(s - s.amax(dim=-1, keepdim=True))
    w = e / e.sum(dim=-1, keepdim=True)
    return (w @ value.to(work)).to(dtype), w.to(dtype)
