"""The lab's module with its own names for the projections, and no load_weights."""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class KVCache:
    key: torch.Tensor
    value: torch.Tensor
    key_padding_mask: torch.Tensor

    @property
    def length(self) -> int:
        return self.key.shape[-2]


class RotaryEmbedding(nn.Module):
    def forward(self, tokens, offset=0):
        length, width = tokens.shape[-2:]
        frequencies = 10000.0 ** -(torch.arange(0, width, 2) / width)
        angles = torch.arange(offset, offset + length).unsqueeze(1) * frequencies
        sin, cos = angles.sin().to(tokens), angles.cos().to(tokens)
        left, right = tokens.unflatten(-1, (-1, 2)).unbind(-1)
        both = left * cos - right * sin, left * sin + right * cos
        return torch.stack(both, -1).flatten(-2)


def check_padding(mask, shape, name):
    if mask.dtype is not torch.bool:
        raise TypeError(f"{name} must hold True and False")
    if tuple(mask.shape) != shape:
        raise ValueError(f"{name} must be {shape}")


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, *, dropout=0.0, use_rope=False, bias=True):
        super().__init__()
        if d_model % num_heads:
            raise ValueError("the heads do not fill d_model")
        width = d_model // num_heads
        if use_rope and width % 2:
            raise ValueError("RoPE: even widths only")
        self.d_model, self.num_heads, self.width = d_model, num_heads, width
        self.use_rope = use_rope
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)
        self.drop_weights = nn.Dropout(dropout)
        self.drop_output = nn.Dropout(dropout)
        self.rope = RotaryEmbedding()

    def split(self, x):
        b, t, _ = x.shape
        return x.reshape(b, t, self.num_heads, self.width).transpose(1, 2)

    def lift(self, mask, b, t, s):
        if mask.dtype is not torch.bool:
            raise TypeError("attention_mask must hold True and False")
        if mask.ndim == 2:
            if mask.shape != (t, s):
                raise ValueError("two axes: (T, S)")
            return mask[None, None]
        if mask.ndim == 3:
            if mask.shape != (b, t, s):
                raise ValueError("three axes: (B, T, S)")
            return mask[:, None]
        if mask.ndim != 4 or mask.shape[0] not in (1, b):
            raise ValueError("two, three or four axes")
        if mask.shape[1] not in (1, self.num_heads) or mask.shape[2:] != (t, s):
            raise ValueError("four axes: (1 or B, 1 or H, T, S)")
        return mask

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
        if query.ndim != 3 or query.shape[-1] != self.d_model:
            raise ValueError("query must be (B, T, d_model)")
        if not query.shape[1]:
            raise ValueError("at least one query")
        cross = key_value is not None and key_value is not query
        start = 0 if cache is None else cache.length
        if cache is not None and not use_cache:
            raise ValueError("whoever passes a cache wants it back")
        if use_cache:
            if key_position_offset or query_position_offset not in (None, start):
                raise ValueError("a cache counts positions itself")
            if cross:
                raise ValueError("a cache is for self-attention")
            if self.training and max(self.drop_weights.p, self.drop_output.p) > 0:
                raise ValueError("a cache is for eval")
        source = key_value if cross else query
        b, t, _ = query.shape
        if source.ndim != 3 or source.shape[0] != b or source.shape[2] != self.d_model:
            raise ValueError("key_value must be (B, S, d_model)")
        valid = torch.ones(source.shape[:2], dtype=torch.bool)
        if key_padding_mask is not None:
            check_padding(key_padding_mask, tuple(source.shape[:2]), "key_padding_mask")
            valid = key_padding_mask
        if query_padding_mask is not None:
            check_padding(query_padding_mask, (b, t), "query_padding_mask")

        q, k, v = self.split(self.q_proj(query)), self.split(self.k_proj(source)), None
        v = self.split(self.v_proj(source))
        if cache is None:
            start = 0 if cross else key_position_offset
        q_start = start if query_position_offset is None else query_position_offset
        if q_start < 0 or key_position_offset < 0:
            raise ValueError("offsets are not negative")
        if self.use_rope:
            q = self.rope(q, offset=q_start)
            k = self.rope(k, offset=key_position_offset if cache is None else start)
        if cache is not None:
            held = cache.key.shape
            if held[:2] != (b, self.num_heads) or held[-1] != self.width:
                raise ValueError("the cache is another module's")
            k, v = torch.cat((cache.key, k), 2), torch.cat((cache.value, v), 2)
            valid = torch.cat((cache.key_padding_mask, valid), 1)

        s = k.shape[2]
        allowed = valid[:, None, None]
        if causal:
            rows = torch.arange(q_start, q_start + t)
            first = key_position_offset if cache is None else 0
            columns = torch.arange(first, first + s)
            allowed = allowed & (columns <= rows[:, None])
        if attention_mask is not None:
            allowed = allowed & self.lift(attention_mask, b, t, s)
        allowed = allowed.expand(b, self.num_heads, t, s)
        if not bool(allowed.any(-1).all()):
            raise ValueError("a row is masked altogether")
        scores = q.matmul(k.transpose(-2, -1)) * self.width**-0.5
        scores = scores.masked_fill(~allowed, torch.finfo(scores.dtype).min)
        weights = self.drop_weights(scores.softmax(-1))
        mixed = weights.matmul(v).transpose(1, 2).reshape(b, t, self.d_model)
        output = self.drop_output(self.out_proj(mixed))
        if query_padding_mask is not None:
            output = output * query_padding_mask.unsqueeze(-1).to(output.dtype)
        return (output, KVCache(k, v, valid)) if use_cache else output
