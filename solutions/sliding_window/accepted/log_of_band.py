"""Log-softmax over scores to which the logarithm of the band, 0 or minus infinity, is added."""

import torch


def sliding_window_attention(query, key, value, window):
    if window < 1:
        raise ValueError("a window of at least one key is needed")
    length = query.shape[-2]
    row = torch.arange(length, device=query.device).expand(length, length)
    back = row.mT - row
    band = ((back >= 0) * (back <= window - 1)).to(query.dtype)
    scores = (query @ key.mT) * query.shape[-1] ** -0.5 + band.log()
    weights = scores.log_softmax(-1).exp()
    return weights.matmul(value), weights
