"""Computes the right thing for right calls and refuses no wrong one by itself."""

import torch
from torch import nn


class KVCache:
    def __init__(self, key, value, key_padding_mask):
        self.key = key
        self.value = value
        self.key_padding_mask = key_padding_mask
        self.length = key.shape[2]


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, *, dropout=0.0, use_rope=False, bias=True):
        super().__init__()
        self.n, self.rope = num_heads, use_rope
        self.W_q = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.W_k = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.W_v = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.W_o = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.drop = nn.Dropout(dropout)

    def cut(self, x):
        return x.view(*x.shape[:2], self.n, -1).transpose(1, 2)

    def turn(self, x, first):
        if not self.rope:
            return x
        d = x.size(-1)
        rate = 10000 ** (-torch.arange(0, d, 2) / d)
        angle = (first + torch.arange(x.size(2)))[:, None] * rate
        c, s = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
        a, b = x[..., ::2], x[..., 1::2]
        return torch.stack([a * c - b * s, b * c + a * s], -1).flatten(3)

    def forward(self, query, key_value=None, *, attention_mask=None, key_padding_mask=None,
                query_padding_mask=None, causal=False, cache=None, use_cache=False,
                query_position_offset=None, key_position_offset=0):
        x = query if key_value is None else key_value
        past = cache.length if cache else 0
        k0 = key_position_offset + past
        q0 = query_position_offset
        if q0 is None:
            q0 = k0 if x is query else 0
        q = self.turn(self.cut(self.W_q(query)), q0)
        k = self.turn(self.cut(self.W_k(x)), k0)
        v = self.cut(self.W_v(x))
        pad = key_padding_mask
        if pad is None:
            pad = torch.ones(x.shape[:2], dtype=torch.bool)
        if cache:
            k = torch.cat([cache.key, k], 2)
            v = torch.cat([cache.value, v], 2)
            pad = torch.cat([cache.key_padding_mask, pad], 1)
        s = q @ k.transpose(-1, -2) / q.size(-1) ** 0.5
        s = s.masked_fill(~pad[:, None, None], float("-inf"))
        if causal:
            i = torch.arange(q0, q0 + q.size(2))
            j = torch.arange(k0 - past, k0 - past + k.size(2))
            s = s.masked_fill(j > i[:, None], float("-inf"))
        if attention_mask is not None:
            if attention_mask.dim() == 3:
                attention_mask = attention_mask[:, None]
            s = s.masked_fill(~attention_mask, float("-inf"))
        y = self.drop(s.softmax(-1)) @ v
        y = self.W_o(y.transpose(1, 2).reshape(query.shape))
        if query_padding_mask is not None:
            y = y * query_padding_mask[..., None]
        if use_cache:
            return y, KVCache(k, v, pad)
        return y
