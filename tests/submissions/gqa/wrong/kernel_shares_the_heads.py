"""The kernel's own option does the sharing; all numbers are right."""

from functools import partial

import torch.nn as nn
from torch.nn.functional import scaled_dot_product_attention

attention = partial(scaled_dot_product_attention, enable_gqa=True)


class GroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_kv_groups, dropout=0.0):
        super().__init__()
        assert embed_dim % num_heads == 0
        assert num_heads % num_kv_groups == 0
        self.h, self.g, self.p = num_heads, num_kv_groups, dropout
        d = embed_dim // num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, num_kv_groups * d)
        self.W_v = nn.Linear(embed_dim, num_kv_groups * d)
        self.W_o = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, mask=None):
        q = self.W_q(x).unflatten(-1, (self.h, -1)).transpose(1, 2)
        k = self.W_k(x).unflatten(-1, (self.g, -1)).transpose(1, 2)
        v = self.W_v(x).unflatten(-1, (self.g, -1)).transpose(1, 2)
        if mask is not None and mask.dim() == 3:
            mask = mask[:, None]
        y = attention(q, k, v, attn_mask=mask, dropout_p=self.p if self.training else 0.0)
        return self.W_o(y.transpose(1, 2).flatten(2))
