"""The band is a lower triangle less another one, as a bias that is added to the scores."""

import torch


def sliding_window_attention(query, key, value, window):
    if window < 1:
        raise ValueError(f"window {window} is too small")
    n = query.shape[-2]
    ones = torch.ones(n, n, dtype=torch.bool, device=query.device)
    band = ones.tril() & ~ones.tril(-window)
    bias = torch.zeros(n, n, dtype=query.dtype, device=query.device)
    bias = bias.masked_fill(band.logical_not(), torch.finfo(query.dtype).min)
    logits = torch.einsum("...id,...jd->...ij", query * query.shape[-1] ** -0.5, key)
    weights = (logits + bias).clamp(min=torch.finfo(query.dtype).min).softmax(-1)
    return torch.einsum("...ij,...jd->...id", weights, value), weights
