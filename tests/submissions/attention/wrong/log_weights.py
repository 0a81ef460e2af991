"""log_softmax is taken for softmax: the weights are logarithms."""

import torch
import torch.nn.functional as F


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / (query.shape[-1] ** 0.5)
    if mask is not None:
        if not (mask != 0).any(-1).all():
            raise ValueError("empty")
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = F.log_softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights
