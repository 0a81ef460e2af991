"""What is returned as a cache is a bare (key, value), without padding and without a length."""

import math

import torch
from torch import nn


class KVCache(tuple):
    def __new__(cls, key, value, key_padding_mask=None):
        return tuple.__new__(cls, (key, value))


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, *, dropout=0.0, use_rope=False, bias=True):
        super().__init__()
        assert embed_dim % num_heads == 0
        assert not use_rope or embed_dim // num_heads % 2 == 0
        self.h = num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim, bias)
        self.W_k = nn.Linear(embed_dim, embed_dim, bias)
        self.W_v = nn.Linear(embed_dim, embed_dim, bias)
        self.W_o = nn.Linear(embed_dim, embed_dim, bias)
        self.drop = nn.Dropout(dropout)

    def forward(self, query, key_value=None, *, attention_mask=None, key_padding_mask=None,
                query_padding_mask=None, causal=False, cache=None, use_cache=False,
                query_position_offset=None, key_position_offset=0):
        memory = query if key_value is None else key_value
        b, t, c = query.shape
        q = self.W_q(query).view(b, t, self.h, -1).transpose(1, 2)
        k = self.W_k(memory).view(b, -1, self.h, q.size(-1)).transpose(1, 2)
        v = self.W_v(memory).view(b, -1, self.h, q.size(-1)).transpose(1, 2)
        if cache is not None:
            k, v = torch.cat((cache[0], k), 2), torch.cat((cache[1], v), 2)
        s = k.size(2)
        scores = q @ k.transpose(2, 3) / math.sqrt(q.size(-1))
        if causal:
            later = torch.ones(t, s, dtype=torch.bool).triu(s - t + 1)
            scores = scores.masked_fill(later, -math.inf)
        if key_padding_mask is not None:
            scores[..., s - key_padding_mask.size(1):].masked_fill_(
                ~key_padding_mask[:, None, None], -math.inf
            )
        if attention_mask is not None:
            if attention_mask.dim() == 3:
                attention_mask = attention_mask.unsqueeze(1)
            scores = scores.masked_fill(~attention_mask, -math.inf)
        y = self.drop(scores.softmax(-1)) @ v
        y = self.W_o(y.transpose(1, 2).reshape(b, t, c))
        if query_padding_mask is not None:
            y = y * query_padding_mask.unsqueeze(-1)
        return (y, KVCache(k, v)) if use_cache else y
