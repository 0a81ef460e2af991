"""If a mask is passed it is used alone; the triangle is the default only."""

import math

import torch
from torch import nn


class RotaryMultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim, rope_dim, q_latent_dim, kv_latent_dim):
        super().__init__()
        if rope_dim % 2:
            raise ValueError("columns come in pairs")
        self.nh, self.dh, self.dr = num_heads, head_dim, rope_dim
        self.W_DQ = nn.Linear(embed_dim, q_latent_dim, bias=False)
        self.W_UQ = nn.Linear(q_latent_dim, num_heads * head_dim, bias=False)
        self.W_QR = nn.Linear(q_latent_dim, num_heads * rope_dim, bias=False)
        self.W_DKV = nn.Linear(embed_dim, kv_latent_dim, bias=False)
        self.W_UK = nn.Linear(kv_latent_dim, num_heads * head_dim, bias=False)
        self.W_UV = nn.Linear(kv_latent_dim, num_heads * head_dim, bias=False)
        self.W_KR = nn.Linear(embed_dim, rope_dim, bias=False)
        self.W_o = nn.Linear(num_heads * head_dim, embed_dim, bias=False)

    def _rope(self, t, pos):
        w = torch.exp(-math.log(10000.0) * torch.arange(0, self.dr, 2, device=t.device) / self.dr)
        ang = torch.einsum("t,f->tf", pos.float(), w)
        a, b = t[..., 0::2], t[..., 1::2]
        r = torch.stack((a * ang.cos() - b * ang.sin(), b * ang.cos() + a * ang.sin()), dim=-1)
        return r.flatten(-2).to(t.dtype)

    def forward(self, x, mask=None, cache=None, use_cache=False):
        b, t, _ = x.shape
        past = 0 if cache is None else cache[0].shape[1]
        pos = torch.arange(t, device=x.device) + past
        c_q = self.W_DQ(x)
        q_c = self.W_UQ(c_q).reshape(b, t, self.nh, self.dh)
        q_r = self._rope(self.W_QR(c_q).reshape(b, t, self.nh, self.dr).transpose(1, 2), pos)
        c_kv = self.W_DKV(x)
        k_r = self._rope(self.W_KR(x), pos)
        if cache is not None:
            c_kv, k_r = torch.cat((cache[0], c_kv), 1), torch.cat((cache[1], k_r), 1)
        k_c = self.W_UK(c_kv).reshape(b, -1, self.nh, self.dh)
        v = self.W_UV(c_kv).reshape(b, -1, self.nh, self.dh)
        s = torch.einsum("bthd,bshd->bhts", q_c, k_c) + torch.einsum("bhtr,bsr->bhts", q_r, k_r)
        s = s / math.sqrt(self.dh + self.dr)
        if mask is None:
            mask = torch.ones(t, past + t, device=x.device, dtype=torch.bool).tril(past)
        mask = mask if mask.dim() == 2 else mask.unsqueeze(1)
        p = s.masked_fill(mask == 0, torch.finfo(s.dtype).min).softmax(-1)
        y = self.W_o(torch.einsum("bhts,bshd->bthd", p, v).flatten(2))
        return (y, (c_kv, k_r)) if use_cache else y
