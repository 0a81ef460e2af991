"""exp is dropped and scaled, then divided by the sum of what was there before dropping."""

import torch
from torch import nn


class MaskedScaledDotProductAttention(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, query, key, value, mask=None):
        logits = (query / query.shape[-1] ** 0.25) @ (key / key.shape[-1] ** 0.25).transpose(-2, -1)
        if mask is not None:
            logits = logits.masked_fill(~mask, torch.finfo(logits.dtype).min)
        top = logits.amax(dim=-1, keepdim=True)
        exp = (logits - top).exp()
        if mask is not None:
            exp = exp * mask
        return (self.dropout(exp) @ value) / exp.sum(dim=-1, keepdim=True)
