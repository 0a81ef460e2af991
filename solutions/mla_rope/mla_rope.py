"""Reference for multi-head latent attention with RoPE (DeepSeek-V2, equations 1 to 11)."""

import math

import torch
from torch import nn

Cache = tuple[torch.Tensor, torch.Tensor]


def rotate(x: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
    """Turn adjacent columns of x (..., T, R) by their position's angles, base 10000."""
    exponents = torch.arange(0, x.shape[-1], 2, dtype=torch.float64, device=x.device) / x.shape[-1]
    angles = positions[:, None] * 10000.0**-exponents
    cos, sin = angles.cos(), angles.sin()
    first, second = x[..., 0::2], x[..., 1::2]
    turned = (first * cos - second * sin, first * sin + second * cos)
    return torch.stack(turned, dim=-1).flatten(-2).to(x.dtype)


class RotaryMultiHeadLatentAttention(nn.Module):
    """Causal attention over keys and values that are rebuilt from a cached latent."""

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        head_dim: int,
        rope_dim: int,
        q_latent_dim: int,
        kv_latent_dim: int,
    ) -> None:
        super().__init__()
        if rope_dim % 2:
            raise ValueError("columns turn in pairs: rope_dim has to be even")
        self.num_heads = num_heads
        self.W_DQ = nn.Linear(embed_dim, q_latent_dim, bias=False)
        self.W_UQ = nn.Linear(q_latent_dim, num_heads * head_dim, bias=False)
        self.W_QR = nn.Linear(q_latent_dim, num_heads * rope_dim, bias=False)
        self.W_DKV = nn.Linear(embed_dim, kv_latent_dim, bias=False)
        self.W_UK = nn.Linear(kv_latent_dim, num_heads * head_dim, bias=False)
        self.W_UV = nn.Linear(kv_latent_dim, num_heads * head_dim, bias=False)
        self.W_KR = nn.Linear(embed_dim, rope_dim, bias=False)
        self.W_o = nn.Linear(num_heads * head_dim, embed_dim, bias=False)

    def forward(
        self,
        x: torch.Tensor,
        mask: torch.Tensor | None = None,
        cache: Cache | None = None,
        use_cache: bool = False,
    ) -> torch.Tensor | tuple[torch.Tensor, Cache]:
        """Return output (B, T, C), and with use_cache the cache; see the assignment's README."""
        past = 0 if cache is None else cache[0].shape[1]
        positions = torch.arange(past, past + x.shape[1], device=x.device)

        c_q = self.W_DQ(x)
        c_kv = self.W_DKV(x)
        k_rope = rotate(self.W_KR(x), positions)
        if cache is not None:
            c_kv = torch.cat((cache[0], c_kv), dim=1)
            k_rope = torch.cat((cache[1], k_rope), dim=1)

        query_content = self._split(self.W_UQ(c_q))
        query_rope = rotate(self._split(self.W_QR(c_q)), positions)
        query = torch.cat((query_content, query_rope), dim=-1)
        key_content = self._split(self.W_UK(c_kv))
        key_rope = k_rope[:, None].expand(-1, self.num_heads, -1, -1)
        key = torch.cat((key_content, key_rope), dim=-1)
        value = self._split(self.W_UV(c_kv))

        allowed = torch.arange(c_kv.shape[1], device=x.device) <= positions[:, None]
        if mask is not None:
            allowed = allowed & mask.unsqueeze(-3)
        scores = query @ key.transpose(-2, -1)
        scores = scores / math.sqrt(query.shape[-1])
        scores = scores.masked_fill(~allowed, -math.inf)
        weights = scores.softmax(dim=-1)
        output = self.W_o(self._merge(weights @ value))
        return (output, (c_kv, k_rope)) if use_cache else output

    def _split(self, x: torch.Tensor) -> torch.Tensor:
        """(B, T, H x D) to (B, H, T, D)."""
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def _merge(self, x: torch.Tensor) -> torch.Tensor:
        """(B, H, T, D) to (B, T, H x D)."""
        return x.transpose(1, 2).flatten(2)
