"""The cache is a named tuple, the mask is additive, and projections are one module per head."""

from typing import NamedTuple

import torch
from torch import Tensor, nn


class LatentCache(NamedTuple):
    c_kv: Tensor
    k_rope: Tensor

    def extended(self, c_kv: Tensor, k_rope: Tensor) -> "LatentCache":
        return LatentCache(
            torch.cat((self.c_kv, c_kv), dim=1), torch.cat((self.k_rope, k_rope), dim=1)
        )


class Head(nn.Module):
    def __init__(self, head_dim: int, rope_dim: int, q_latent_dim: int, kv_latent_dim: int):
        super().__init__()
        self.query = nn.Linear(q_latent_dim, head_dim, bias=False)
        self.query_rope = nn.Linear(q_latent_dim, rope_dim, bias=False)
        self.key = nn.Linear(kv_latent_dim, head_dim, bias=False)
        self.value = nn.Linear(kv_latent_dim, head_dim, bias=False)
        self.scale = (head_dim + rope_dim) ** -0.5

    def forward(self, c_q: Tensor, cache: LatentCache, bias: Tensor, angles: Tensor) -> Tensor:
        rope = turn(self.query_rope(c_q), angles)
        query = torch.cat((self.query(c_q), rope), dim=-1) * self.scale
        key = torch.cat((self.key(cache.c_kv), cache.k_rope), dim=-1)
        scores = torch.baddbmm(bias.expand(query.shape[0], -1, -1), query, key.transpose(1, 2))
        return scores.softmax(dim=-1) @ self.value(cache.c_kv)


def turn(x: Tensor, angles: Tensor) -> Tensor:
    out = torch.empty_like(x)
    cos, sin = angles.cos(), angles.sin()
    out[..., 0::2] = x[..., 0::2] * cos - x[..., 1::2] * sin
    out[..., 1::2] = x[..., 0::2] * sin + x[..., 1::2] * cos
    return out


class RotaryMultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim, rope_dim, q_latent_dim, kv_latent_dim):
        super().__init__()
        if rope_dim % 2:
            raise ValueError("RoPE needs an even width")
        self.rope_dim = rope_dim
        self.query_down = nn.Linear(embed_dim, q_latent_dim, bias=False)
        self.latent_down = nn.Linear(embed_dim, kv_latent_dim, bias=False)
        self.key_rope = nn.Linear(embed_dim, rope_dim, bias=False)
        self.heads = nn.ModuleList(
            Head(head_dim, rope_dim, q_latent_dim, kv_latent_dim) for _ in range(num_heads)
        )
        self.out = nn.Linear(num_heads * head_dim, embed_dim, bias=False)

    def load_weights(self, weights: dict[str, Tensor]) -> None:
        self.query_down.weight.copy_(weights["W_DQ.weight"])
        self.latent_down.weight.copy_(weights["W_DKV.weight"])
        self.key_rope.weight.copy_(weights["W_KR.weight"])
        self.out.weight.copy_(weights["W_o.weight"])
        names = {"query": "W_UQ", "query_rope": "W_QR", "key": "W_UK", "value": "W_UV"}
        for mine, theirs in names.items():
            for head, part in zip(
                self.heads, weights[f"{theirs}.weight"].chunk(len(self.heads)), strict=True
            ):
                getattr(head, mine).weight.copy_(part)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None = None,
        cache: LatentCache | None = None,
        use_cache: bool = False,
    ):
        length = x.shape[1]
        past = 0 if cache is None else cache.c_kv.shape[1]
        exponent = torch.arange(0, self.rope_dim, 2, device=x.device) / self.rope_dim
        steps = torch.arange(past, past + length, device=x.device)
        angles = (steps[:, None] / 10000**exponent).to(torch.promote_types(x.dtype, torch.float32))
        angles = angles if x.dtype == torch.float64 else angles.to(x.dtype)
        new = LatentCache(self.latent_down(x), turn(self.key_rope(x), angles))
        full = new if cache is None else cache.extended(*new)
        blocked = torch.arange(past + length, device=x.device) > steps[:, None]
        bias = torch.zeros(length, past + length, dtype=x.dtype, device=x.device)
        bias = bias.masked_fill(blocked, float("-inf"))
        if mask is not None:
            bias = bias.masked_fill(mask.logical_not(), float("-inf"))
        c_q = self.query_down(x)
        mixed = torch.cat([head(c_q, full, bias, angles) for head in self.heads], dim=-1)
        output = self.out(mixed)
        return (output, full) if use_cache else output
