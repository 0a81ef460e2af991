"""Without a mask the kernel is asked to be causal."""

import torch.nn as nn
import torch.nn.functional as F


class MultiQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("pick another number of heads")
        self.h, self.p = num_heads, dropout
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, embed_dim // num_heads)
        self.W_v = nn.Linear(embed_dim, embed_dim // num_heads)
        self.W_o = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, mask=None):
        b, t, c = x.shape
        q = self.W_q(x).view(b, t, self.h, c // self.h).transpose(1, 2)
        k, v = (w(x)[:, None].expand(b, self.h, t, c // self.h) for w in (self.W_k, self.W_v))
        if mask is not None:
            mask = mask.view(b, 1, t, t) if mask.dim() == 3 else mask
        y = F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, dropout_p=self.p if self.training else 0, is_causal=mask is None
        )
        return self.W_o(y.transpose(1, 2).reshape(b, t, c))
