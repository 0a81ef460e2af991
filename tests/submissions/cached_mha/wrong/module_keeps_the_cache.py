"""The module keeps keys and values itself and starts anew only when no cache is passed."""

import math

import torch
from torch import nn


class KVCache:
    """What the caller gets; the module looks only at whether there is one."""

    def __init__(self, key, value, key_padding_mask):
        self.key, self.value, self.key_padding_mask = key, value, key_padding_mask

    @property
    def length(self):
        return self.key.size(2)


def rotary(x, start):
    t, d = x.size(2), x.size(3)
    m = torch.arange(start, start + t, dtype=torch.float32).view(t, 1)
    theta = m / torch.pow(10000.0, torch.arange(0, d, 2).float() / d)
    c = theta.cos().repeat_interleave(2, 1).to(x.dtype)
    s = theta.sin().repeat_interleave(2, 1).to(x.dtype)
    y = torch.zeros_like(x)
    y[..., 0::2], y[..., 1::2] = -x[..., 1::2], x[..., 0::2]
    return x * c + y * s


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, *, dropout=0.0, use_rope=False, bias=True):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("embed_dim / num_heads")
        self.heads, self.size = num_heads, embed_dim // num_heads
        self.use_rope = use_rope
        if use_rope and self.size % 2:
            raise ValueError("odd head")
        for name in ("W_q", "W_k", "W_v", "W_o"):
            setattr(self, name, nn.Linear(embed_dim, embed_dim, bias=bias))
        self.rate = nn.Dropout(dropout)
        self.reset()

    def reset(self):
        self.old_k = self.old_v = self.old_pad = None

    def forward(self, query, key_value=None, *, attention_mask=None, key_padding_mask=None,
                query_padding_mask=None, causal=False, cache=None, use_cache=False,
                query_position_offset=None, key_position_offset=0):
        same = key_value is None or key_value is query
        kv = query if key_value is None else key_value
        width = self.heads * self.size
        for x in (query, kv):
            if x.dim() != 3 or x.size(2) != width or x.size(0) != query.size(0):
                raise ValueError("tokens")
        if query.size(1) == 0:
            raise ValueError("no tokens")
        if cache is not None and not use_cache:
            raise ValueError("use_cache")
        if use_cache and (not same or (self.training and self.rate.p > 0)):
            raise ValueError("cannot cache this")
        if cache is None:
            self.reset()
        else:
            sizes = (cache.key.size(0), cache.key.size(1), cache.key.size(3))
            if sizes != (query.size(0), self.heads, self.size):
                raise ValueError("strange cache")
        past = 0 if self.old_k is None else self.old_k.size(2)
        if use_cache and (key_position_offset or query_position_offset not in (None, past)):
            raise ValueError("offsets")
        start_k = past + key_position_offset
        start_q = query_position_offset
        if start_q is None:
            start_q = start_k if same else 0
        if start_q < 0 or key_position_offset < 0:
            raise ValueError("offsets below 0")
        b, t, n = query.size(0), query.size(1), kv.size(1)
        for mask, size in ((key_padding_mask, (b, n)), (query_padding_mask, (b, t))):
            if mask is not None:
                if mask.dtype != torch.bool:
                    raise TypeError("bool")
                if mask.shape != size:
                    raise ValueError("padding")
        q, k, v = (
            f(x).view(b, -1, self.heads, self.size).transpose(1, 2)
            for f, x in ((self.W_q, query), (self.W_k, kv), (self.W_v, kv))
        )
        if self.use_rope:
            q, k = rotary(q, start_q), rotary(k, start_k)
        pad = key_padding_mask
        if pad is None:
            pad = torch.ones(b, n, dtype=torch.bool)
        if self.old_k is not None:
            k = torch.cat((self.old_k, k), 2)
            v = torch.cat((self.old_v, v), 2)
            pad = torch.cat((self.old_pad, pad), 1)
        if use_cache:
            self.old_k, self.old_v, self.old_pad = k, v, pad
        s = k.size(2)
        ok = pad[:, None, None].expand(b, self.heads, t, s)
        if causal:
            i = torch.arange(t).view(t, 1) + start_q
            ok = ok & (torch.arange(s) + start_k - past <= i)
        if attention_mask is not None:
            m = attention_mask
            if m.dtype != torch.bool:
                raise TypeError("bool")
            if not 2 <= m.dim() <= 4 or m.shape[-2:] != (t, s):
                raise ValueError("mask")
            if m.dim() > 2 and m.size(0) != b and (m.dim() == 3 or m.size(0) != 1):
                raise ValueError("mask batch")
            if m.dim() == 4 and m.size(1) not in (1, self.heads):
                raise ValueError("mask heads")
            ok = ok & (m[:, None] if m.dim() == 3 else m)
        if not ok.any(-1).all():
            raise ValueError("empty row")
        w = (q @ k.transpose(2, 3) / math.sqrt(self.size)).masked_fill(~ok, -math.inf).softmax(-1)
        y = self.W_o((self.rate(w) @ v).transpose(1, 2).reshape(b, t, width))
        if query_padding_mask is not None:
            y = y.masked_fill(~query_padding_mask[..., None], 0)
        return (y, KVCache(k, v, pad)) if use_cache else y
