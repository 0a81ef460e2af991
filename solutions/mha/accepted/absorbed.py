"""Each head's W_q and W_k are multiplied first: scores are x_q (W_q^T W_k) x_k, head by head."""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("not divisible")
        self.num_heads, self.head_dim = num_heads, embed_dim // num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim, bias=False)
        self.W_k = nn.Linear(embed_dim, embed_dim, bias=False)
        self.W_v = nn.Linear(embed_dim, embed_dim, bias=False)
        self.W_o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.rate = dropout

    def by_head(self, layer):
        return layer.weight.view(self.num_heads, self.head_dim, -1)

    def forward(self, query, key, value, mask=None):
        bilinear = self.by_head(self.W_q).mT @ self.by_head(self.W_k)  # (H, C, C)
        scores = (query.unsqueeze(1) @ bilinear) @ key.unsqueeze(1).mT / self.head_dim**0.5
        if mask is not None:
            shape = {2: (1, 1), 3: (mask.shape[0], 1), 4: mask.shape[:2]}[mask.dim()]
            allowed = mask.reshape(*shape, *mask.shape[-2:])
            if allowed.amax(dim=-1).logical_not().any():
                raise ValueError("a query is allowed no key")
            scores = scores.masked_fill(~allowed, float("-inf"))
        weights = scores.softmax(-1)
        used = torch.dropout(weights, self.rate, self.training)
        values = self.W_v(value).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        outputs = self.W_o.weight.view(-1, self.num_heads, self.head_dim).permute(1, 2, 0)
        return ((used @ values) @ outputs).sum(dim=1), weights
