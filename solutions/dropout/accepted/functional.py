"""F.dropout is told by hand whether the module is in training."""

import torch
import torch.nn.functional as F
from torch import nn


class MaskedScaledDotProductAttention(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.p = dropout

    def forward(self, query, key, value, mask=None):
        d_k = query.size(-1)
        logits = torch.matmul(query, key.transpose(-2, -1)) / d_k**0.5
        if mask is not None:
            logits = logits.masked_fill(mask.logical_not(), float("-inf"))
        attn = F.softmax(logits, dim=-1)
        attn = F.dropout(attn, p=self.p, training=self.training)
        return torch.matmul(attn, value)
