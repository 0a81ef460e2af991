"""The weights are exp(score - logsumexp(scores)): softmax by way of its logarithm."""

import math

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])

    if mask is not None:
        forbidden = mask.to(torch.int64) == 0
        if forbidden.all(-1).any().item():
            raise ValueError("A query is left without keys")
        scores = scores.masked_fill(forbidden, -math.inf)

    log_total = torch.logsumexp(scores, dim=-1, keepdim=True)
    weights = (scores - log_total).exp()
    output = weights @ value
    return output, weights
