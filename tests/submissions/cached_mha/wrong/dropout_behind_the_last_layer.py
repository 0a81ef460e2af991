"""Dropout acts on the output and not on the weights."""

import math
from typing import NamedTuple

import torch
from torch import nn


class KVCache(NamedTuple):
    key: torch.Tensor
    value: torch.Tensor
    key_padding_mask: torch.Tensor

    @property
    def length(self):
        return self.key_padding_mask.shape[-1]


class Mask:
    """Collects what blocks a key; True means allowed."""

    def __init__(self, batch, heads, queries, keys):
        self.shape = (batch, heads, queries, keys)
        self.allowed = torch.ones(self.shape, dtype=torch.bool)

    def add(self, mask):
        self.allowed = self.allowed.minimum(mask.expand(self.shape))

    def add_attention_mask(self, mask):
        if mask.dtype != torch.bool:
            raise TypeError("the attention mask is bool")
        batch, heads, queries, keys = self.shape
        if mask.dim() not in (2, 3, 4):
            raise ValueError("the attention mask has 2, 3 or 4 axes")
        wanted = {
            2: ((queries,), (keys,)),
            3: ((batch,), (queries,), (keys,)),
            4: ((1, batch), (1, heads), (queries,), (keys,)),
        }[mask.dim()]
        if not all(size in sizes for size, sizes in zip(mask.shape, wanted, strict=True)):
            raise ValueError("the attention mask has another size")
        self.add(mask.unsqueeze(1) if mask.dim() == 3 else mask)


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, **options):
        super().__init__()
        dropout = options.pop("dropout", 0.0)
        self.use_rope = options.pop("use_rope", False)
        bias = options.pop("bias", True)
        assert not options, f"unknown: {options}"
        if embed_dim % num_heads != 0:
            raise ValueError("embed_dim / num_heads")
        self.H = num_heads
        self.D = embed_dim // num_heads
        if self.use_rope:
            if self.D % 2 != 0:
                raise ValueError("rope")
            i = torch.arange(self.D // 2)
            self.theta = torch.pow(10000.0, -2 * i / self.D)
        self.W_k = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.W_q = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.W_o = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.W_v = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.drop = nn.Dropout(dropout)

    def _turn(self, x, offset):
        m = torch.arange(x.shape[2]).add(offset).float()
        angles = torch.einsum("t,i->ti", m, self.theta)
        rows = torch.stack((angles.cos(), -angles.sin(), angles.sin(), angles.cos()), -1)
        matrices = rows.view(x.shape[2], self.D // 2, 2, 2).to(x.dtype)
        pairs = x.reshape(*x.shape[:3], self.D // 2, 2, 1)
        return (matrices @ pairs).reshape(x.shape)

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
        if key_value is query:
            key_value = None
        B, T = self._sizes(query)
        N = T
        if key_value is not None:
            B2, N = self._sizes(key_value)
            if B2 != B:
                raise ValueError("batch sizes differ")
        if T == 0:
            raise ValueError("T = 0")
        if cache is not None and not use_cache:
            raise ValueError("cache needs use_cache")
        P = 0
        if use_cache:
            if key_value is not None:
                raise ValueError("use_cache is for self-attention")
            if self.training and self.drop.p > 0:
                raise ValueError("use_cache is for eval")
            if cache is not None:
                P = cache.length
                if cache.key.shape != (B, self.H, P, self.D):
                    raise ValueError("cache does not fit")
            if key_position_offset != 0 or query_position_offset not in (None, P):
                raise ValueError("offsets do not fit the cache")
        k0 = key_position_offset
        q0 = query_position_offset
        if q0 is None:
            q0 = 0 if key_value is not None else k0 + P
        if k0 < 0 or q0 < 0:
            raise ValueError("offsets are positions, from 0 on")

        valid = self._padding(key_padding_mask, B, N)
        real = self._padding(query_padding_mask, B, T)
        source = query if key_value is None else key_value
        q = self.W_q(query).view(B, T, self.H, self.D).transpose(1, 2)
        k = self.W_k(source).view(B, N, self.H, self.D).transpose(1, 2)
        v = self.W_v(source).view(B, N, self.H, self.D).transpose(1, 2)
        if self.use_rope:
            q = self._turn(q, q0)
            k = self._turn(k, k0 + P)
        if cache is not None:
            k = torch.cat((cache.key, k), dim=-2)
            v = torch.cat((cache.value, v), dim=-2)
            valid = torch.cat((cache.key_padding_mask, valid), dim=-1)

        S = P + N
        mask = Mask(B, self.H, T, S)
        mask.add(valid[:, None, None])
        if causal:
            mask.add(torch.arange(k0, k0 + S)[None] <= torch.arange(q0, q0 + T)[:, None])
        if attention_mask is not None:
            mask.add_attention_mask(attention_mask)
        if (mask.allowed.long().amax(dim=-1) == 0).any():
            raise ValueError("no key left for a query")

        scores = torch.bmm(q.flatten(0, 1), k.flatten(0, 1).transpose(1, 2)).view(B, self.H, T, S)
        scores = scores / math.sqrt(self.D)
        top = scores.masked_fill(~mask.allowed, -math.inf).max(dim=-1, keepdim=True).values
        powers = torch.where(mask.allowed, (scores - top).clamp(max=0).exp(), 0.0)
        weights = powers / powers.sum(-1, keepdim=True)
        mixed = torch.bmm(weights.flatten(0, 1), v.flatten(0, 1)).view(B, self.H, T, self.D)
        output = self.drop(self.W_o(mixed.transpose(1, 2).contiguous().view(B, T, -1)))
        output = output * real.unsqueeze(-1).to(output.dtype)
        if use_cache:
            return output, KVCache(k, v, valid)
        return output

    def _sizes(self, x):
        if x.dim() != 3 or x.shape[-1] != self.H * self.D:
            raise ValueError(f"expected (B, T, {self.H * self.D}), got {tuple(x.shape)}")
        return x.shape[:2]

    def _padding(self, mask, batch, length):
        if mask is None:
            return torch.ones(batch, length, dtype=torch.bool)
        if mask.dtype != torch.bool:
            raise TypeError("padding masks are bool")
        if mask.shape != (batch, length):
            raise ValueError(f"expected a padding mask ({batch}, {length})")
        return mask
