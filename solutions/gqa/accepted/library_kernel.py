"""PyTorch's own attention, on key and value heads that are repeated first."""

import torch.nn as nn
import torch.nn.functional as F


def repeat_kv(x, times):
    b, g, s, d = x.shape
    return x[:, :, None].expand(b, g, times, s, d).reshape(b, g * times, s, d)


class GroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_kv_groups, dropout=0.0):
        super().__init__()
        assert embed_dim % num_heads == 0
        assert num_heads % num_kv_groups == 0
        self.h, self.g, self.d = num_heads, num_kv_groups, embed_dim // num_heads
        self.W_q = nn.Linear(embed_dim, self.h * self.d, bias=False)
        self.W_k = nn.Linear(embed_dim, self.g * self.d, bias=False)
        self.W_v = nn.Linear(embed_dim, self.g * self.d, bias=False)
        self.W_o = nn.Linear(self.h * self.d, embed_dim, bias=False)
        self.dropout_p = dropout

    def forward(self, x, mask=None):
        b, t, _ = x.shape
        q = self.W_q(x).view(b, t, self.h, self.d).transpose(1, 2)
        k = self.W_k(x).view(b, t, self.g, self.d).transpose(1, 2)
        v = self.W_v(x).view(b, t, self.g, self.d).transpose(1, 2)
        k, v = repeat_kv(k, self.h // self.g), repeat_kv(v, self.h // self.g)
        if mask is not None and mask.dim() == 3:
            mask = mask[:, None]
        y = F.scaled_dot_product_attention(
            q, k, v, mask, self.dropout_p if self.training else 0.0, enable_gqa=False
        )
        return self.W_o(y.transpose(1, 2).flatten(2))
