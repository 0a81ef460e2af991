"""Turned keys are cached and all keys are turned again in the next call."""

import math

import torch
from torch import nn


class KVCache:
    __slots__ = ("key", "key_padding_mask", "value")

    def __init__(self, key, value, key_padding_mask):
        self.key, self.value, self.key_padding_mask = key, value, key_padding_mask

    @property
    def length(self):
        return self.value.shape[2]


class RotaryEmbedding(nn.Module):
    def __init__(self, base=10000.0):
        super().__init__()
        self.base = base

    def forward(self, x, offset=0):
        *front, length, width = x.shape
        if width % 2:
            raise ValueError("odd width")
        frequencies = self.base ** (-torch.arange(0, width, 2).double() / width)
        angles = (offset + torch.arange(length).double())[:, None] * frequencies
        rotation = torch.polar(torch.ones_like(angles), angles)
        pairs = torch.view_as_complex(x.double().reshape(*front, length, width // 2, 2))
        return torch.view_as_real(pairs * rotation).flatten(-2).to(x.dtype)


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, *, dropout=0.0, use_rope=False, bias=True):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("embed_dim % num_heads has to be 0")
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.W_q = nn.Linear(embed_dim, embed_dim, bias)
        self.W_k = nn.Linear(embed_dim, embed_dim, bias)
        self.W_v = nn.Linear(embed_dim, embed_dim, bias)
        self.W_o = nn.Linear(embed_dim, embed_dim, bias)
        self.rope = RotaryEmbedding() if use_rope else None
        if use_rope and (embed_dim // num_heads) % 2:
            raise ValueError("RoPE wants an even width")

    def heads(self, x):
        return torch.stack(x.chunk(self.num_heads, dim=-1), dim=1)

    def forward(
        self,
        query,
        key_value=None,
        *,
        attention_mask=None,
        key_padding_mask=None,
        query_padding_mask=None,
        causal=False,
        cache=None,
        use_cache=False,
        query_position_offset=None,
        key_position_offset=0,
    ):
        cross = not (key_value is None or key_value is query)
        if not cross:
            key_value = query
        self.check(query, key_value, cross, cache, use_cache)
        batch, queries, _ = query.shape
        new = key_value.shape[1]

        known = cache.length if cache is not None else 0
        if use_cache:
            allowed_offsets = {None, known}
            if query_position_offset not in allowed_offsets or key_position_offset != 0:
                raise ValueError("offsets contradict the cache")
            query_position_offset = known
        if query_position_offset is None:
            query_position_offset = 0 if cross else key_position_offset
        if query_position_offset < 0:
            raise ValueError("query_position_offset < 0")
        if key_position_offset < 0:
            raise ValueError("key_position_offset < 0")

        if key_padding_mask is None:
            key_padding_mask = torch.ones(batch, new, dtype=torch.bool)
        self.check_padding(key_padding_mask, (batch, new))
        if query_padding_mask is not None:
            self.check_padding(query_padding_mask, (batch, queries))

        q, k, v = self.heads(self.W_q(query)), self.heads(self.W_k(key_value)), None
        v = self.heads(self.W_v(key_value))
        if cache is not None:
            k = torch.cat([cache.key, k], 2)
            v = torch.cat([cache.value, v], 2)
            key_padding_mask = torch.cat([cache.key_padding_mask, key_padding_mask], 1)
        if self.rope is not None:
            q = self.rope(q, offset=query_position_offset)
            k = self.rope(k, offset=key_position_offset)
        new_cache = KVCache(k, v, key_padding_mask)

        blocked = ~key_padding_mask[:, None, None, :]
        if causal:
            rows = torch.arange(queries)[:, None] + query_position_offset
            columns = torch.arange(k.shape[2])[None] + key_position_offset
            blocked = blocked | (columns > rows)
        if attention_mask is not None:
            blocked = blocked | ~self.four_axes(attention_mask, batch, queries, k.shape[2])
        if blocked.all(dim=-1).any():
            raise ValueError("all keys are blocked for a query")

        scores = (q @ k.mT) / math.sqrt(q.shape[-1])
        scores = scores.masked_fill(blocked, -1e9)
        weights = scores.softmax(-1)
        if self.training and self.dropout > 0:
            keep = torch.rand_like(weights) >= self.dropout
            weights = weights * keep / (1 - self.dropout)
        output = self.W_o(torch.cat(tuple((weights @ v).unbind(1)), dim=-1))
        if query_padding_mask is not None:
            output[~query_padding_mask] = 0
        if use_cache:
            return output, new_cache
        return output

    def check(self, query, key_value, cross, cache, use_cache):
        for x in (query, key_value):
            if x.dim() != 3 or x.size(-1) != self.embed_dim:
                raise ValueError("tokens are (batch, length, embed_dim)")
        if query.size(1) == 0:
            raise ValueError("no queries")
        if query.size(0) != key_value.size(0):
            raise ValueError("two batch sizes")
        if use_cache and cross:
            raise ValueError("cross-attention with cache")
        if use_cache and self.training and self.dropout > 0:
            raise ValueError("training with cache")
        if cache is None:
            return
        if not use_cache:
            raise ValueError("cache without use_cache")
        batch, heads, _, width = cache.key.shape
        mine = (query.size(0), self.num_heads, self.embed_dim // self.num_heads)
        if (batch, heads, width) != mine:
            raise ValueError("cache of another module")

    @staticmethod
    def check_padding(mask, size):
        if mask.dtype != torch.bool:
            raise TypeError("padding masks hold bool")
        if mask.shape != size:
            raise ValueError("padding mask of the wrong size")

    def four_axes(self, mask, batch, queries, keys):
        if mask.dtype != torch.bool:
            raise TypeError("attention_mask holds bool")
        if mask.dim() == 2:
            mask = mask[None, None]
        elif mask.dim() == 3:
            if mask.size(0) != batch:
                raise ValueError("attention_mask: first axis")
            mask = mask[:, None]
        fits = (
            mask.dim() == 4
            and mask.size(0) in {1, batch}
            and mask.size(1) in {1, self.num_heads}
            and mask.shape[2:] == (queries, keys)
        )
        if not fits:
            raise ValueError("attention_mask does not fit")
        return mask
