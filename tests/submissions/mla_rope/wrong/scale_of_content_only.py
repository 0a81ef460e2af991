"""The scale is the root of head_dim; the rotary columns are not counted."""

import torch
from torch import nn


def rope(t, start):
    n, r = t.shape[-2:]
    ang = torch.outer(
        torch.arange(start, start + n, device=t.device).float(),
        10000.0 ** (-torch.arange(0, r, 2, device=t.device) / r),
    )
    a, b = t[..., ::2], t[..., 1::2]
    return torch.stack([a * ang.cos() - b * ang.sin(), a * ang.sin() + b * ang.cos()], -1).reshape(
        t.shape
    ).to(t.dtype)


class RotaryMultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim, rope_dim, q_latent_dim, kv_latent_dim):
        super().__init__()
        if rope_dim % 2:
            raise ValueError("rope_dim must be even")
        self.h, self.d = num_heads, head_dim
        self.W_DQ = nn.Linear(embed_dim, q_latent_dim, bias=False)
        self.W_UQ = nn.Linear(q_latent_dim, num_heads * head_dim, bias=False)
        self.W_QR = nn.Linear(q_latent_dim, num_heads * rope_dim, bias=False)
        self.W_DKV = nn.Linear(embed_dim, kv_latent_dim, bias=False)
        self.W_UK = nn.Linear(kv_latent_dim, num_heads * head_dim, bias=False)
        self.W_UV = nn.Linear(kv_latent_dim, num_heads * head_dim, bias=False)
        self.W_KR = nn.Linear(embed_dim, rope_dim, bias=False)
        self.W_o = nn.Linear(num_heads * head_dim, embed_dim, bias=False)

    def forward(self, x, mask=None, cache=None, use_cache=False):
        B, T, _ = x.shape
        n = 0 if cache is None else cache[0].shape[1]
        ckv, kr = self.W_DKV(x), rope(self.W_KR(x), n)
        if cache is not None:
            ckv, kr = torch.cat([cache[0], ckv], 1), torch.cat([cache[1], kr], 1)
        cq = self.W_DQ(x)
        q = self.W_UQ(cq).view(B, T, self.h, -1).transpose(1, 2)
        qr = rope(self.W_QR(cq).view(B, T, self.h, -1).transpose(1, 2), n)
        k = self.W_UK(ckv).view(B, n + T, self.h, -1).transpose(1, 2)
        v = self.W_UV(ckv).view(B, n + T, self.h, -1).transpose(1, 2)
        s = (q @ k.transpose(2, 3) + qr @ kr[:, None].transpose(2, 3)) * self.d**-0.5
        ok = torch.ones(T, n + T, dtype=torch.bool, device=x.device).tril(n)
        if mask is not None:
            ok = ok & mask
        s = s.masked_fill(~ok.view(-1, 1, T, n + T), float("-inf"))
        o = self.W_o((s.softmax(-1) @ v).transpose(1, 2).reshape(B, T, -1))
        return (o, (ckv, kr)) if use_cache else o
