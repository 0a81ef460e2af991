"""The module holds the cache in an attribute; what is passed only says that there is one."""

import math

import torch
from torch import nn


def rope(u, pos):
    n = u.shape[-1]
    a = pos[:, None] * (10000.0 ** (-torch.arange(0, n, 2, device=u.device) / n))[None, :]
    e, o = u[..., 0::2], u[..., 1::2]
    return torch.stack([e * a.cos() - o * a.sin(), e * a.sin() + o * a.cos()], -1).flatten(-2).to(u)


class RotaryMultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim, rope_dim, q_latent_dim, kv_latent_dim):
        super().__init__()
        if rope_dim % 2:
            raise ValueError("rope_dim must be a multiple of 2")
        self.H = num_heads
        self.scale = 1 / math.sqrt(head_dim + rope_dim)
        self.W_DQ = nn.Linear(embed_dim, q_latent_dim, bias=False)
        self.W_UQ = nn.Linear(q_latent_dim, num_heads * head_dim, bias=False)
        self.W_QR = nn.Linear(q_latent_dim, num_heads * rope_dim, bias=False)
        self.W_DKV = nn.Linear(embed_dim, kv_latent_dim, bias=False)
        self.W_UK = nn.Linear(kv_latent_dim, num_heads * head_dim, bias=False)
        self.W_UV = nn.Linear(kv_latent_dim, num_heads * head_dim, bias=False)
        self.W_KR = nn.Linear(embed_dim, rope_dim, bias=False)
        self.W_o = nn.Linear(num_heads * head_dim, embed_dim, bias=False)
        self.past_c = None
        self.past_k = None

    def forward(self, x, mask=None, cache=None, use_cache=False):
        if cache is None:
            self.past_c = x.new_zeros(x.shape[0], 0, self.W_DKV.out_features)
            self.past_k = x.new_zeros(x.shape[0], 0, self.W_KR.out_features)
        start = self.past_c.shape[1]
        pos = torch.arange(start, start + x.shape[1], device=x.device)
        c = torch.cat((self.past_c, self.W_DKV(x)), 1)
        k_r = torch.cat((self.past_k, rope(self.W_KR(x), pos)), 1)
        if use_cache:
            self.past_c, self.past_k = c, k_r
        cq = self.W_DQ(x)
        sp = lambda t: t.unflatten(-1, (self.H, -1)).permute(0, 2, 1, 3)
        s = sp(self.W_UQ(cq)) @ sp(self.W_UK(c)).mT + rope(sp(self.W_QR(cq)), pos) @ k_r[:, None].mT
        ok = torch.arange(c.shape[1], device=x.device) <= pos[:, None]
        if mask is not None:
            ok = ok & mask
        if ok.ndim == 3:
            ok = ok[:, None]
        w = (s * self.scale).masked_fill(~ok, -math.inf).softmax(-1)
        y = self.W_o((w @ sp(self.W_UV(c))).transpose(1, 2).flatten(2))
        return (y, (c, k_r)) if use_cache else y
