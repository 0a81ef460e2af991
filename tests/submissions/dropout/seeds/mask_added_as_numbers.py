"""The text's formula taken at its word: the mask of zeros and ones is added to the scores."""

import torch.nn.functional as F
from torch import nn


class MaskedScaledDotProductAttention(nn.Module):
    def __init__(self, dropout=0.1):
        super().__init__()
        self.drop = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        logits = (query @ key.transpose(-2, -1)) / query.size(-1) ** 0.5
        if mask is not None:
            logits = logits + mask
        return self.drop(F.softmax(logits, dim=-1)) @ value
