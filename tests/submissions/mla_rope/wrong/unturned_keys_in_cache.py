"""Rotary keys go into the cache as W_KR gives them, and all are turned at each step."""

import torch
from torch import nn


def turned(t, positions):
    width = t.shape[-1]
    speed = 10000 ** (-torch.arange(0, width, 2, device=t.device).float() / width)
    angle = positions.unsqueeze(-1) * speed
    first, second = t.unflatten(-1, (width // 2, 2)).unbind(-1)
    new = first * angle.cos() - second * angle.sin(), first * angle.sin() + second * angle.cos()
    return torch.stack(new, dim=-1).flatten(-2).type_as(t)


class RotaryMultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim, rope_dim, q_latent_dim, kv_latent_dim):
        super().__init__()
        if rope_dim % 2:
            raise ValueError("rope_dim")
        self.heads, self.scale = num_heads, (head_dim + rope_dim) ** -0.5
        make = lambda i, o: nn.Linear(i, o, bias=False)
        self.W_DQ, self.W_DKV = make(embed_dim, q_latent_dim), make(embed_dim, kv_latent_dim)
        self.W_UQ = make(q_latent_dim, num_heads * head_dim)
        self.W_QR = make(q_latent_dim, num_heads * rope_dim)
        self.W_UK = make(kv_latent_dim, num_heads * head_dim)
        self.W_UV = make(kv_latent_dim, num_heads * head_dim)
        self.W_KR, self.W_o = make(embed_dim, rope_dim), make(num_heads * head_dim, embed_dim)

    def forward(self, x, mask=None, cache=None, use_cache=False):
        c_kv, k_r = self.W_DKV(x), self.W_KR(x)
        if cache is not None:
            c_kv = torch.cat((cache[0], c_kv), dim=1)
            k_r = torch.cat((cache[1], k_r), dim=1)
        everything = torch.arange(c_kv.shape[1], device=x.device)
        mine = everything[-x.shape[1] :]
        by_head = lambda t: t.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        c_q = self.W_DQ(x)
        score = by_head(self.W_UQ(c_q)) @ by_head(self.W_UK(c_kv)).mT
        score = score + turned(by_head(self.W_QR(c_q)), mine) @ turned(k_r, everything)[:, None].mT
        may = everything <= mine[:, None]
        if mask is not None:
            may = may & mask
        may = may if may.dim() == 2 else may[:, None]
        w = torch.where(may, score * self.scale, -torch.inf).softmax(dim=-1)
        y = self.W_o((w @ by_head(self.W_UV(c_kv))).transpose(1, 2).flatten(2))
        return (y, (c_kv, k_r)) if use_cache else y
