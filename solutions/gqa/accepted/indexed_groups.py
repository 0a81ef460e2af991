"""An index says which group each head takes."""

import math

import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_kv_groups, dropout=0.0):
        super().__init__()
        for whole, part in ((embed_dim, num_heads), (num_heads, num_kv_groups)):
            if whole % part != 0:
                raise ValueError(f"{part} does not divide {whole}")
        self.num_heads = num_heads
        self.num_kv_groups = num_kv_groups
        width = embed_dim // num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, num_kv_groups * width)
        self.W_v = nn.Linear(embed_dim, num_kv_groups * width)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.drop = nn.Dropout(dropout)
        group = torch.arange(num_heads) // (num_heads // num_kv_groups)
        self.register_buffer("group", group, persistent=False)

    def forward(self, x, mask=None):
        b, t, c = x.shape
        q = self.W_q(x).view(b, t, self.num_heads, -1)
        k = self.W_k(x).view(b, t, self.num_kv_groups, -1)[:, :, self.group]
        v = self.W_v(x).view(b, t, self.num_kv_groups, -1)[:, :, self.group]
        q, k, v = (z.permute(0, 2, 1, 3) for z in (q, k, v))
        scores = torch.matmul(q / math.sqrt(q.shape[-1]), k.transpose(2, 3))
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            scores = torch.where(mask, scores, torch.tensor(-1e30, dtype=scores.dtype))
        y = torch.matmul(self.drop(scores.softmax(dim=3)), v)
        return self.W_o(y.permute(0, 2, 1, 3).reshape(b, t, c))
