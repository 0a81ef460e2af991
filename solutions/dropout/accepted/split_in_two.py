"""A function for the weights and a container of steps; softmax is done in float32."""

import math

import torch
from torch import nn


def attention_weights(query, key, mask):
    scores = (query @ key.transpose(-2, -1)).float() / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask.bool(), torch.finfo(torch.float32).min)
    return scores.softmax(dim=-1).type_as(query)


class MaskedScaledDotProductAttention(nn.Module):
    def __init__(self, dropout: float = 0.1):
        super().__init__()
        self.after_softmax = nn.Sequential(nn.Identity(), nn.Dropout(dropout))

    def forward(self, query, key, value, mask=None):
        weights = attention_weights(query, key, mask)
        return self.after_softmax(weights) @ value
