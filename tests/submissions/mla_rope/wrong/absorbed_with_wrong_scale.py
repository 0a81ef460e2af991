"""Absorbed matrices, and the scale of what is then compared: the latent and the rotary key."""

import math

import torch
from torch import nn


class RotaryMultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim, rope_dim, q_latent_dim, kv_latent_dim):
        super().__init__()
        if rope_dim % 2 == 1:
            raise ValueError("odd")
        self.sizes = (num_heads, head_dim, rope_dim, kv_latent_dim)
        for name, n_in, n_out in [
            ("W_DQ", embed_dim, q_latent_dim),
            ("W_UQ", q_latent_dim, num_heads * head_dim),
            ("W_QR", q_latent_dim, num_heads * rope_dim),
            ("W_DKV", embed_dim, kv_latent_dim),
            ("W_UK", kv_latent_dim, num_heads * head_dim),
            ("W_UV", kv_latent_dim, num_heads * head_dim),
            ("W_KR", embed_dim, rope_dim),
            ("W_o", num_heads * head_dim, embed_dim),
        ]:
            setattr(self, name, nn.Linear(n_in, n_out, bias=False))

    def rotate(self, z, t0):
        r = self.sizes[2]
        t = torch.arange(z.size(1), device=z.device) + t0
        phase = t[:, None] * 10000 ** (-torch.arange(0, r, 2, device=z.device) / r)
        phase = phase.reshape(1, z.size(1), *[1] * (z.dim() - 3), r // 2)
        pairs = z.unflatten(-1, (-1, 2))
        re, im = pairs[..., 0], pairs[..., 1]
        out = torch.stack(
            (re * phase.cos() - im * phase.sin(), re * phase.sin() + im * phase.cos()), -1
        )
        return out.flatten(-2).to(z.dtype)

    def forward(self, x, mask=None, cache=None, use_cache=False):
        H, D, R, L = self.sizes
        past = cache[0].size(1) if cache is not None else 0
        latent, rot = self.W_DKV(x), self.rotate(self.W_KR(x), past)
        if cache is not None:
            latent = torch.cat((cache[0], latent), 1)
            rot = torch.cat((cache[1], rot), 1)
        cq = self.W_DQ(x)
        q = self.W_UQ(cq).unflatten(-1, (H, D))
        q = torch.einsum("bthd,hdl->bthl", q, self.W_UK.weight.view(H, D, L))
        qr = self.rotate(self.W_QR(cq).unflatten(-1, (H, R)), past)
        full_q, full_k = torch.cat((q, qr), -1), torch.cat((latent, rot), -1)
        att = torch.einsum("bthe,bse->bhts", full_q, full_k) / math.sqrt(full_q.size(-1))
        T, S = att.shape[-2:]
        hidden = torch.arange(S, device=x.device) > torch.arange(past, S, device=x.device)[:, None]
        if mask is not None:
            hidden = hidden | ~mask
        hidden = hidden.unsqueeze(-3)
        att = att.masked_fill(hidden, -math.inf).softmax(-1)
        o = torch.einsum("bhts,bsl->bthl", att, latent)
        o = torch.einsum("bthl,hdl->bthd", o, self.W_UV.weight.view(H, D, L))
        o = self.W_o(o.flatten(2))
        return (o, (latent, rot)) if use_cache else o
