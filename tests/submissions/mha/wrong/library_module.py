"""The library's own module does everything; only its weights are copied."""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        self.num_heads = num_heads
        self.inner = nn.MultiheadAttention(embed_dim, num_heads, dropout, batch_first=True)

    def load_weights(self, weights):
        parts = ("W_q", "W_k", "W_v")
        self.inner.in_proj_weight.copy_(torch.cat([weights[f"{p}.weight"] for p in parts]))
        self.inner.in_proj_bias.copy_(torch.cat([weights[f"{p}.bias"] for p in parts]))
        self.inner.out_proj.weight.copy_(weights["W_o.weight"])
        self.inner.out_proj.bias.copy_(weights["W_o.bias"])

    def forward(self, query, key, value, mask=None):
        blocked = None
        if mask is not None:
            if not mask.any(-1).all():
                raise ValueError("no key")
            B, T, S = query.shape[0], query.shape[1], key.shape[1]
            mask = mask.unsqueeze(1) if mask.ndim == 3 else mask
            blocked = ~mask.expand(B, self.num_heads, T, S).reshape(-1, T, S)
        return self.inner(
            query, key, value, attn_mask=blocked, need_weights=True, average_attn_weights=False
        )
