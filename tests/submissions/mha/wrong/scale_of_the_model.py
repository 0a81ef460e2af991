"""The scores are divided by the root of the whole width."""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("width")
        self.num_heads = num_heads
        self.scale = embed_dim**-0.5
        for name in ("W_q", "W_k", "W_v", "W_o"):
            setattr(self, name, nn.Linear(embed_dim, embed_dim))
        self.drop = nn.Dropout(dropout)

    def forward(self, query, key, value, mask=None):
        q = torch.stack(self.W_q(query).chunk(self.num_heads, -1), 1)
        k = torch.stack(self.W_k(key).chunk(self.num_heads, -1), 1)
        v = torch.stack(self.W_v(value).chunk(self.num_heads, -1), 1)
        scores = torch.einsum("bhtd,bhsd->bhts", q, k) * self.scale
        if mask is not None:
            mask = mask.unsqueeze(1) if mask.ndim == 3 else mask
            if not mask.any(-1).all():
                raise ValueError("no key")
            scores = torch.where(mask, scores, -torch.inf)
        p = scores.softmax(-1)
        return self.W_o(torch.cat((self.drop(p) @ v).unbind(1), -1)), p
