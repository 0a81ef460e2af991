"""A module with small methods does the work; the function only builds it and calls it."""

import math

import torch
from torch import nn


class DotProductAttention(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.scale = 1 / math.sqrt(width)
        self.softmax = nn.Softmax(dim=-1)

    def scores(self, query, key):
        return torch.matmul(query, key.transpose(-2, -1)) * self.scale

    @staticmethod
    def apply_mask(scores, mask):
        if mask is None:
            return scores
        mask = mask != 0
        if not torch.all(torch.any(mask, dim=-1)):
            raise ValueError("There is a query with all of its keys blocked")
        return scores.masked_fill(~mask, -math.inf)

    def forward(self, query, key, value, mask=None):
        weights = self.softmax(self.apply_mask(self.scores(query, key), mask))
        return torch.matmul(weights, value), weights


def scaled_dot_product_attention(query, key, value, mask=None):
    return DotProductAttention(query.shape[-1])(query, key, value, mask)
