"""The module never calls super().__init__()."""

import torch
from torch import nn


class Attention(nn.Module):
    def __init__(self, d_k):
        self.d_k = d_k
        self.softmax = nn.Softmax(dim=-1)

    def forward(self, query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / self.d_k**0.5
        if mask is not None:
            if not mask.bool().any(dim=-1).all():
                raise ValueError("no key")
            scores = scores.masked_fill(mask == 0, float("-inf"))
        weights = self.softmax(scores)
        return weights @ value, weights


def scaled_dot_product_attention(query, key, value, mask=None):
    return Attention(query.shape[-1])(query, key, value, mask)
