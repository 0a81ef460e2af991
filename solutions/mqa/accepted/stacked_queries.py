"""All heads' queries stacked into one long sequence, so that one bmm a product is enough."""

import torch
from torch import nn


class MultiQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        assert not embed_dim % num_heads
        self.heads = num_heads
        self.scale = (embed_dim // num_heads) ** -0.5
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, embed_dim // num_heads)
        self.W_v = nn.Linear(embed_dim, embed_dim // num_heads)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        b, t, c = x.shape
        h = self.heads
        q = (self.W_q(x) * self.scale).reshape(b, t * h, c // h)
        k, v = self.W_k(x), self.W_v(x)
        scores = torch.bmm(q, k.transpose(1, 2)).view(b, t, h, t)
        if mask is not None:
            if mask.dim() == 2:
                mask = mask.view(1, t, 1, t)
            elif mask.dim() == 3:
                mask = mask.unsqueeze(2)
            else:
                mask = mask.transpose(1, 2)
            bias = torch.zeros_like(scores).masked_fill(~mask, torch.finfo(scores.dtype).min)
            scores = scores + bias
        weights = self.dropout(torch.softmax(scores, dim=-1))
        y = torch.bmm(weights.reshape(b, t * h, t), v)
        return self.W_o(y.reshape(b, t, c))
