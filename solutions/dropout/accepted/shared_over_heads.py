"""One random mask (T, S) serves the whole batch and all heads; einsum does the products."""

import torch
from torch import nn


class MaskedScaledDotProductAttention(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.keep = 1.0 - dropout

    def forward(self, query, key, value, mask=None):
        scores = torch.einsum("...td,...sd->...ts", query * query.shape[-1] ** -0.5, key)
        if mask is not None:
            scores = scores + torch.zeros_like(scores).masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        if self.training and self.keep < 1:
            drawn = torch.full(weights.shape[-2:], self.keep, device=weights.device).bernoulli()
            factor = 1 / self.keep if self.keep > 0 else 0.0
            weights = weights * (drawn * factor).to(weights.dtype)
        return torch.einsum("...ts,...sv->...tv", weights, value)
