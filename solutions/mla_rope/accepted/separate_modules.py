"""RoPE, the cache's growth and the scores are small modules and functions of their own."""

import math
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass(frozen=True)
class Config:
    embed_dim: int
    num_heads: int
    head_dim: int
    rope_dim: int
    q_latent_dim: int
    kv_latent_dim: int

    def __post_init__(self):
        if self.rope_dim % 2:
            raise ValueError(f"rope_dim={self.rope_dim} is odd")


class Rope(nn.Module):
    def __init__(self, dim: int, base: float = 10000.0):
        super().__init__()
        frequencies = torch.pow(base, -torch.arange(0, dim, 2, dtype=torch.float64) / dim)
        self.register_buffer("frequencies", frequencies.float(), persistent=False)

    def forward(self, x, positions):
        angles = torch.outer(positions.to(self.frequencies.dtype), self.frequencies)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        even, odd = x[..., ::2], x[..., 1::2]
        return torch.stack((even * cos - odd * sin, even * sin + odd * cos), -1).reshape(x.shape)


def join(old, new):
    return new if old is None else torch.cat((old, new), dim=1)


def causal_mask(queries, keys, device):
    return torch.ones(queries, keys, dtype=torch.bool, device=device).tril(keys - queries)


class RotaryMultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim, rope_dim, q_latent_dim, kv_latent_dim):
        super().__init__()
        self.config = c = Config(
            embed_dim, num_heads, head_dim, rope_dim, q_latent_dim, kv_latent_dim
        )
        self.rope = Rope(c.rope_dim)
        content, rotary = c.num_heads * c.head_dim, c.num_heads * c.rope_dim
        widths = {
            "W_DQ": (c.embed_dim, c.q_latent_dim),
            "W_UQ": (c.q_latent_dim, content),
            "W_QR": (c.q_latent_dim, rotary),
            "W_DKV": (c.embed_dim, c.kv_latent_dim),
            "W_UK": (c.kv_latent_dim, content),
            "W_UV": (c.kv_latent_dim, content),
            "W_KR": (c.embed_dim, c.rope_dim),
            "W_o": (content, c.embed_dim),
        }
        for name, (inputs, outputs) in widths.items():
            self.add_module(name, nn.Linear(inputs, outputs, bias=False))

    def forward(self, x, mask=None, cache=None, use_cache=False):
        c = self.config
        B, T, _ = x.shape
        old_kv, old_rope = (None, None) if cache is None else cache
        offset = 0 if cache is None else old_kv.size(1)
        positions = torch.arange(T, device=x.device) + offset
        c_kv = join(old_kv, self.W_DKV(x))
        k_rope = join(old_rope, self.rope(self.W_KR(x), positions))
        S = c_kv.size(1)

        c_q = self.W_DQ(x)
        q_c = self.W_UQ(c_q).reshape(B, T, c.num_heads, c.head_dim).transpose(1, 2)
        q_r = self.W_QR(c_q).reshape(B, T, c.num_heads, c.rope_dim).transpose(1, 2)
        k_c = self.W_UK(c_kv).reshape(B, S, c.num_heads, c.head_dim).transpose(1, 2)
        v_c = self.W_UV(c_kv).reshape(B, S, c.num_heads, c.head_dim).transpose(1, 2)
        content = torch.matmul(q_c, k_c.transpose(-2, -1))
        rotary = torch.matmul(self.rope(q_r, positions), k_rope.unsqueeze(1).transpose(-2, -1))
        scores = (content + rotary) / math.sqrt(c.head_dim + c.rope_dim)

        keep = causal_mask(T, S, x.device)[None, None]
        if mask is not None:
            keep = keep & mask.reshape(-1, 1, T, S)
        if not keep.any(dim=-1).all():
            raise ValueError("a token that may see nothing")
        scores = scores.masked_fill(keep == 0, -torch.inf)
        weights = F.softmax(scores, dim=-1)
        mixed = torch.matmul(weights, v_c).transpose(1, 2).contiguous().view(B, T, -1)
        output = self.W_o(mixed)
        if not use_cache:
            return output
        return output, (c_kv, k_rope)
