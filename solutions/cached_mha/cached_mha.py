"""Reference for multi-head attention with a key/value cache.

Heads: Vaswani et al. 2017, section 3.2.2. Rotary positions: Su et al. 2021, section 3.2.2.
"""

import math
from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True, eq=False)
class KVCache:
    """Keys and values (B, H, S, D) and which of them are tokens (B, S)."""

    key: torch.Tensor
    value: torch.Tensor
    key_padding_mask: torch.Tensor

    @property
    def length(self) -> int:
        return self.key.shape[2]


def rotate(x: torch.Tensor, offset: int) -> torch.Tensor:
    """Turn each pair of adjacent columns of ``x`` (B, H, T, D), at positions from ``offset`` on."""
    length, width = x.shape[-2:]
    positions = torch.arange(offset, offset + length, device=x.device, dtype=torch.float32)
    pairs = torch.arange(0, width, 2, device=x.device, dtype=torch.float32)
    angles = positions[:, None] * 10000.0 ** (-pairs / width)
    cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
    even, odd = x[..., 0::2], x[..., 1::2]
    turned = torch.stack((even * cos - odd * sin, even * sin + odd * cos), dim=-1)
    return turned.flatten(-2)


def check_mask(mask: torch.Tensor, shapes: list[tuple[int, ...]], name: str) -> None:
    """Raises TypeError for a mask that is not bool, ValueError for another shape than these."""
    if mask.dtype != torch.bool:
        raise TypeError(f"{name} has to be bool, True meaning allowed")
    if tuple(mask.shape) not in shapes:
        raise ValueError(f"{name} cannot be {tuple(mask.shape)}; it can be {shapes}")


class CachedMultiHeadAttention(nn.Module):
    """See the assignment's README."""

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        *,
        dropout: float = 0.0,
        use_rope: bool = False,
        bias: bool = True,
    ) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("embed_dim has to be a multiple of num_heads")
        head_dim = embed_dim // num_heads
        if use_rope and head_dim % 2:
            raise ValueError("RoPE turns pairs of columns: the heads' width has to be even")
        self.embed_dim = embed_dim
        self.num_heads = num_heads
        self.head_dim = head_dim
        self.use_rope = use_rope
        self.W_q = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.W_k = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.W_v = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.W_o = nn.Linear(embed_dim, embed_dim, bias=bias)
        self.dropout = nn.Dropout(dropout)

    def forward(
        self,
        query: torch.Tensor,
        key_value: torch.Tensor | None = None,
        *,
        attention_mask: torch.Tensor | None = None,
        key_padding_mask: torch.Tensor | None = None,
        query_padding_mask: torch.Tensor | None = None,
        causal: bool = False,
        cache: KVCache | None = None,
        use_cache: bool = False,
        query_position_offset: int | None = None,
        key_position_offset: int = 0,
    ) -> torch.Tensor | tuple[torch.Tensor, KVCache]:
        is_self = key_value is None or key_value is query
        source = query if key_value is None else key_value
        self._check_tokens(query, source)
        if use_cache:
            self._check_caching(is_self)
        batch, queries, _ = query.shape
        if cache is not None:
            if not use_cache:
                raise ValueError("a cache needs use_cache, or the new tokens would be lost")
            self._check_cache(cache, batch)

        past = 0 if cache is None else cache.length
        key_start = past if use_cache else key_position_offset
        query_start = key_start if is_self else 0
        if use_cache and (key_position_offset != 0 or query_position_offset not in (None, past)):
            raise ValueError("with a cache, positions go on from its length")
        if query_position_offset is not None:
            query_start = query_position_offset
        if query_start < 0 or key_position_offset < 0:
            raise ValueError("positions start at 0")

        valid = torch.ones(source.shape[:2], dtype=torch.bool, device=query.device)
        if key_padding_mask is not None:
            check_mask(key_padding_mask, [tuple(source.shape[:2])], "key_padding_mask")
            valid = key_padding_mask
        if query_padding_mask is not None:
            check_mask(query_padding_mask, [(batch, queries)], "query_padding_mask")

        queries_by_head = self._split(self.W_q(query))
        key = self._split(self.W_k(source))
        value = self._split(self.W_v(source))
        if self.use_rope:
            queries_by_head = rotate(queries_by_head, query_start)
            key = rotate(key, key_start)
        if cache is not None:
            key = torch.cat((cache.key, key), dim=2)
            value = torch.cat((cache.value, value), dim=2)
            valid = torch.cat((cache.key_padding_mask, valid), dim=1)

        allowed = valid[:, None, None, :].expand(batch, self.num_heads, queries, -1)
        if causal:
            first_key = key_start - past
            key_positions = first_key + torch.arange(key.shape[2], device=query.device)
            query_positions = query_start + torch.arange(queries, device=query.device)
            allowed = allowed & (key_positions <= query_positions[:, None])
        if attention_mask is not None:
            allowed = allowed & self._lift(attention_mask, allowed.shape)
        if not allowed.any(dim=-1).all():
            raise ValueError("a query has no allowed key")

        mixed = self._attend(queries_by_head, key, value, allowed)
        output = self.W_o(mixed.transpose(1, 2).flatten(2))
        if query_padding_mask is not None:
            output = output.masked_fill(~query_padding_mask[:, :, None], 0.0)
        if use_cache:
            return output, KVCache(key, value, valid)
        return output

    def _attend(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, allowed: torch.Tensor
    ) -> torch.Tensor:
        """Query (B, H, T, D), key and value (B, H, S, D), allowed (B, H, T, S) to (B, H, T, D)."""
        scores = query @ key.transpose(-2, -1)
        scores = scores / math.sqrt(query.shape[-1])
        scores = scores.masked_fill(~allowed, -math.inf)
        weights = scores.softmax(dim=-1)
        weights = self.dropout(weights)
        return weights @ value

    def _split(self, x: torch.Tensor) -> torch.Tensor:
        """(B, T, C) to (B, H, T, D)."""
        return x.unflatten(-1, (self.num_heads, self.head_dim)).transpose(1, 2)

    def _lift(self, mask: torch.Tensor, shape: torch.Size) -> torch.Tensor:
        """``mask`` as one that broadcasts to ``shape`` (B, H, T, S)."""
        batch, heads, queries, keys = shape
        shapes = [(queries, keys), (batch, queries, keys)]
        shapes += [(b, h, queries, keys) for b in (1, batch) for h in (1, heads)]
        check_mask(mask, shapes, "attention_mask")
        return mask[:, None] if mask.dim() == 3 else mask

    def _check_tokens(self, query: torch.Tensor, source: torch.Tensor) -> None:
        if query.dim() != 3 or query.shape[-1] != self.embed_dim:
            raise ValueError("query has to be (B, T, embed_dim)")
        if query.shape[1] == 0:
            raise ValueError("query holds no token")
        if source.dim() != 3 or source.shape[-1] != self.embed_dim:
            raise ValueError("key_value has to be (B, S, embed_dim)")
        if source.shape[0] != query.shape[0]:
            raise ValueError("key_value has to have as many sequences as query")

    def _check_caching(self, is_self: bool) -> None:
        if not is_self:
            raise ValueError("only self-attention can be cached")
        if self.training and self.dropout.p > 0:
            raise ValueError("no cache while dropout is active: call eval() first")

    def _check_cache(self, cache: KVCache, batch: int) -> None:
        if cache.key.shape[0] != batch:
            raise ValueError("the cache belongs to another batch")
        if cache.key.shape[1] != self.num_heads:
            raise ValueError("the cache has another number of heads")
        if cache.key.shape[3] != self.head_dim:
            raise ValueError("the cache has heads of another width")
