"""Keys are expanded in front of the groups, values behind them."""

import torch.nn as nn
import torch.nn.functional as F


class GroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_kv_groups, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("embed_dim")
        if num_heads % num_kv_groups:
            raise ValueError("num_heads")
        self.h, self.g, self.p = num_heads, num_kv_groups, dropout
        d = embed_dim // num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, num_kv_groups * d)
        self.W_v = nn.Linear(embed_dim, num_kv_groups * d)
        self.W_o = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, mask=None):
        b, t, c = x.shape
        d, r = c // self.h, self.h // self.g
        q = self.W_q(x).view(b, t, self.h, d).transpose(1, 2)
        k = self.W_k(x).view(b, t, self.g, d).transpose(1, 2)
        v = self.W_v(x).view(b, t, self.g, d).transpose(1, 2)
        k = k.unsqueeze(1).expand(b, r, self.g, t, d).reshape(b, self.h, t, d)
        v = v.unsqueeze(2).expand(b, self.g, r, t, d).reshape(b, self.h, t, d)
        if mask is not None and mask.dim() == 3:
            mask = mask.unsqueeze(1)
        y = F.scaled_dot_product_attention(q, k, v, mask, self.p if self.training else 0.0)
        return self.W_o(y.transpose(1, 2).reshape(b, t, c))
