"""A mask with three axes is combined as it is, so that its first axis meets the heads."""

from typing import NamedTuple

import torch
import torch.nn as nn
from torch import Tensor


class KVCache(NamedTuple):
    key: Tensor
    value: Tensor
    key_padding_mask: Tensor

    @property
    def length(self) -> int:
        return self.key.size(-2)


def rope(x: Tensor, start: int) -> Tensor:
    n, d = x.shape[-2], x.shape[-1]
    freq = 1.0 / (10000 ** (torch.arange(0, d, 2, device=x.device).float() / d))
    angle = torch.outer(torch.arange(start, start + n, device=x.device).float(), freq)
    cos = torch.repeat_interleave(angle.cos(), 2, dim=-1).type_as(x)
    sin = torch.repeat_interleave(angle.sin(), 2, dim=-1).type_as(x)
    swapped = torch.stack([-x[..., 1::2], x[..., ::2]], dim=-1).reshape(x.shape)
    return x * cos + swapped * sin


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, *, dropout=0.0, use_rope=False, bias=True):
        super().__init__()
        assert embed_dim % num_heads == 0, "heads must share the width evenly"
        self.h, self.d = num_heads, embed_dim // num_heads
        assert not (use_rope and self.d % 2 == 1), "RoPE needs pairs of columns"
        self.qkv = nn.Linear(embed_dim, 3 * embed_dim, bias=bias)
        self.out = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.drop = nn.Dropout(dropout)
        self.use_rope = use_rope

    def load_weights(self, weights):
        for kind in ("weight", "bias"):
            target = getattr(self.qkv, kind)
            if target is not None:
                target.copy_(torch.cat([weights[f"W_{n}.{kind}"] for n in "qkv"]))
                getattr(self.out, kind).copy_(weights[f"W_o.{kind}"])

    def project(self, x, part):
        c = self.h * self.d
        rows = slice(part * c, (part + 1) * c)
        bias = None if self.qkv.bias is None else self.qkv.bias[rows]
        y = nn.functional.linear(x, self.qkv.weight[rows], bias)
        return y.reshape(x.shape[0], x.shape[1], self.h, self.d).permute(0, 2, 1, 3)

    def forward(
        self,
        query,
        key_value: Tensor | None = None,
        *,
        attention_mask=None,
        key_padding_mask=None,
        query_padding_mask=None,
        causal=False,
        cache: KVCache | None = None,
        use_cache=False,
        query_position_offset=None,
        key_position_offset=0,
    ):
        own = key_value is None or key_value is query
        memory = query if own else key_value
        c = self.h * self.d
        for x in (query, memory):
            if x.ndim != 3 or x.shape[2] != c or x.shape[0] != query.shape[0]:
                raise ValueError(f"tokens must be (batch, length, {c})")
        b, t, _ = query.shape
        if t < 1:
            raise ValueError("no query")
        if cache is not None and not use_cache:
            raise ValueError("pass use_cache=True together with cache")
        seen = 0
        if use_cache:
            if not own:
                raise ValueError("cross-attention is not cached")
            if self.training and self.drop.p:
                raise ValueError("dropout and cache do not go together")
            if cache is not None:
                if (cache.key.shape[0], cache.key.shape[1], cache.key.shape[3]) != (
                    b,
                    self.h,
                    self.d,
                ):
                    raise ValueError("foreign cache")
                seen = cache.length
            if key_position_offset or query_position_offset not in (None, seen):
                raise ValueError("positions follow from the cache")
        k_start = seen or key_position_offset
        q_start = query_position_offset
        if q_start is None:
            q_start = k_start if own else 0
        if min(q_start, k_start) < 0:
            raise ValueError("negative position")

        for name, mask, n in (
            ("key_padding_mask", key_padding_mask, memory.shape[1]),
            ("query_padding_mask", query_padding_mask, t),
        ):
            if mask is None:
                continue
            if mask.dtype is not torch.bool:
                raise TypeError(name)
            if mask.shape != (b, n):
                raise ValueError(name)

        q, k, v = self.project(query, 0), self.project(memory, 1), self.project(memory, 2)
        if self.use_rope:
            q, k = rope(q, q_start), rope(k, k_start)
        keep = key_padding_mask
        if keep is None:
            keep = query.new_ones(memory.shape[:2], dtype=torch.bool)
        if cache is not None:
            k = torch.cat([cache.key, k], dim=-2)
            v = torch.cat([cache.value, v], dim=-2)
            keep = torch.cat([cache.key_padding_mask, keep], dim=-1)

        s = k.shape[-2]
        ok = keep.view(b, 1, 1, s).repeat(1, self.h, t, 1)
        if causal:
            i = torch.arange(t, device=query.device).view(t, 1) + q_start
            j = torch.arange(s, device=query.device).view(1, s) + k_start - seen
            ok &= i >= j
        if attention_mask is not None:
            m = attention_mask
            if m.dtype is not torch.bool:
                raise TypeError("attention_mask")
            if m.ndim not in (2, 3, 4) or m.shape[-2:] != (t, s):
                raise ValueError("attention_mask must end in (T, S)")
            if m.ndim == 3 and m.shape[0] != b:
                raise ValueError("attention_mask: one (T, S) for each sequence")
            if m.ndim == 4 and not (m.shape[0] in (1, b) and m.shape[1] in (1, self.h)):
                raise ValueError("attention_mask: batch or heads do not fit")
            ok = ok & m
        if (~ok).all(dim=-1).any():
            raise ValueError("a query is left without keys")

        scores = torch.einsum("bhtd,bhsd->bhts", q, k) * self.d**-0.5
        share = scores.masked_fill(~ok, float("-inf")).softmax(-1)
        mixed = torch.einsum("bhts,bhsd->bthd", self.drop(share), v)
        y = self.out(mixed.reshape(b, t, c))
        if query_padding_mask is not None:
            y = y * query_padding_mask[..., None].type_as(y)
        return (y, KVCache(k, v, keep)) if use_cache else y
