"""Multi-head attention with a key/value cache. Fill it in; README.md says what it has to do."""

import torch
from torch import nn


class KVCache:
    """Keys and values of the tokens so far. An ordinary class; a dataclass or NamedTuple is fine.

    Shapes:
        key: (B, H, S, D)
        value: (B, H, S, D)
        key_padding_mask: bool (B, S); True for a token, False for padding
    """

    def __init__(
        self, key: torch.Tensor, value: torch.Tensor, key_padding_mask: torch.Tensor
    ) -> None:
        raise NotImplementedError

    @property
    def length(self) -> int:
        """S, the number of positions held, padding included."""
        raise NotImplementedError


class CachedMultiHeadAttention(nn.Module):
    """Self- and cross-attention with H heads of width D = C / H, masks, positions and a cache.

    Parameters: ``W_q``, ``W_k``, ``W_v``, ``W_o``, each an ``nn.Linear(embed_dim, embed_dim)``. If
    yours are named or packed in another way, also write ``load_weights(self, weights)``: it gets
    ``{"W_q.weight": (C, C), "W_q.bias": (C,), ...}`` for all four names and sets your parameters.
    """

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        *,
        dropout: float = 0.0,
        use_rope: bool = False,
        bias: bool = True,
    ) -> None:
        """Raises ValueError if the widths do not divide, or if RoPE is used with an odd D."""
        super().__init__()
        raise NotImplementedError

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
        """Attend, and with ``use_cache`` also return the cache with this call's tokens appended.

        Shapes (T queries; S keys, those of the cache included; N keys of this call):
            query: (B, T, C)
            key_value: (B, N, C); None, or the query itself, means self-attention
            attention_mask: bool (T, S), (B, T, S), (B or 1, H or 1, T, S); True means allowed
            key_padding_mask: bool (B, N); True for a token
            query_padding_mask: bool (B, T); True for a token

        Returns:
            output (B, T, C), or (output, cache) with ``use_cache``.

        Raises:
            TypeError: for a mask that is not bool.
            ValueError: for everything else that the README lists.
        """
        raise NotImplementedError
