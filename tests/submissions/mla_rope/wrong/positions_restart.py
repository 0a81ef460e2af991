"""Each call counts positions from 0, although the mask knows of the cached tokens."""

import math

import torch
from torch import nn


class RoPE(nn.Module):
    def forward(self, x):
        T, R = x.shape[-2:]
        i = torch.arange(R // 2, device=x.device)
        angle = torch.arange(T, device=x.device)[:, None] * 10000.0 ** (-2 * i / R)
        c, s = angle.cos(), angle.sin()
        y = torch.empty_like(x)
        y[..., 0::2] = x[..., 0::2] * c - x[..., 1::2] * s
        y[..., 1::2] = x[..., 0::2] * s + x[..., 1::2] * c
        return y


class RotaryMultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim, rope_dim, q_latent_dim, kv_latent_dim):
        super().__init__()
        if rope_dim % 2 != 0:
            raise ValueError("even rope_dim needed")
        self.num_heads, self.head_dim, self.rope_dim = num_heads, head_dim, rope_dim
        self.rope = RoPE()
        self.W_DQ = nn.Linear(embed_dim, q_latent_dim, bias=False)
        self.W_UQ = nn.Linear(q_latent_dim, num_heads * head_dim, bias=False)
        self.W_QR = nn.Linear(q_latent_dim, num_heads * rope_dim, bias=False)
        self.W_DKV = nn.Linear(embed_dim, kv_latent_dim, bias=False)
        self.W_UK = nn.Linear(kv_latent_dim, num_heads * head_dim, bias=False)
        self.W_UV = nn.Linear(kv_latent_dim, num_heads * head_dim, bias=False)
        self.W_KR = nn.Linear(embed_dim, rope_dim, bias=False)
        self.W_o = nn.Linear(num_heads * head_dim, embed_dim, bias=False)

    def forward(self, x, mask=None, cache=None, use_cache=False):
        batch, T, _ = x.shape
        c_q, c_kv = self.W_DQ(x), self.W_DKV(x)
        k_rope = self.rope(self.W_KR(x))
        if cache is not None:
            c_kv = torch.cat([cache[0], c_kv], dim=1)
            k_rope = torch.cat([cache[1], k_rope], dim=1)
        S = c_kv.size(1)
        q_c = self.W_UQ(c_q).view(batch, T, self.num_heads, self.head_dim).transpose(1, 2)
        q_r = self.rope(self.W_QR(c_q).view(batch, T, self.num_heads, self.rope_dim).transpose(1, 2))
        k_c = self.W_UK(c_kv).view(batch, S, self.num_heads, self.head_dim).transpose(1, 2)
        v = self.W_UV(c_kv).view(batch, S, self.num_heads, self.head_dim).transpose(1, 2)
        q = torch.cat([q_c, q_r], dim=-1)
        k = torch.cat([k_c, k_rope.unsqueeze(1).repeat(1, self.num_heads, 1, 1)], dim=-1)
        scores = q @ k.transpose(-2, -1) / math.sqrt(self.head_dim + self.rope_dim)
        causal = torch.tril(torch.ones(T, S, device=x.device), diagonal=S - T).bool()
        if mask is not None:
            causal = causal & mask
        scores = scores.masked_fill(~causal.reshape(-1, 1, T, S), float("-inf"))
        out = torch.softmax(scores, dim=-1) @ v
        out = self.W_o(out.transpose(1, 2).reshape(batch, T, -1))
        if use_cache:
            return out, (c_kv, k_rope)
        return out
