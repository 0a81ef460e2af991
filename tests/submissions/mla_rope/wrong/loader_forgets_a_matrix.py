"""The mathematics is right, but load_weights copies W_UK into both halves of a fused projection."""

import torch
from torch import nn


class RotaryMultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim, rope_dim, q_latent_dim, kv_latent_dim):
        super().__init__()
        if rope_dim % 2:
            raise ValueError("rope_dim")
        self.h, self.d, self.r = num_heads, head_dim, rope_dim
        self.q_down = nn.Linear(embed_dim, q_latent_dim, bias=False)
        self.q_up = nn.Linear(q_latent_dim, num_heads * head_dim, bias=False)
        self.q_rope = nn.Linear(q_latent_dim, num_heads * rope_dim, bias=False)
        self.kv_down = nn.Linear(embed_dim, kv_latent_dim, bias=False)
        self.kv_up = nn.Linear(kv_latent_dim, 2 * num_heads * head_dim, bias=False)
        self.k_rope = nn.Linear(embed_dim, rope_dim, bias=False)
        self.proj = nn.Linear(num_heads * head_dim, embed_dim, bias=False)

    def load_weights(self, weights):
        half = self.h * self.d
        self.q_down.weight.copy_(weights["W_DQ.weight"])
        self.q_up.weight.copy_(weights["W_UQ.weight"])
        self.q_rope.weight.copy_(weights["W_QR.weight"])
        self.kv_down.weight.copy_(weights["W_DKV.weight"])
        self.kv_up.weight[:half].copy_(weights["W_UK.weight"])
        self.kv_up.weight[half:].copy_(weights["W_UK.weight"])
        self.k_rope.weight.copy_(weights["W_KR.weight"])
        self.proj.weight.copy_(weights["W_o.weight"])

    def rope(self, x, start):
        t = torch.arange(start, start + x.shape[-2], device=x.device).unsqueeze(-1)
        a = t * 10000 ** (-torch.arange(0, self.r, 2, device=x.device) / self.r)
        u, v = x[..., 0::2], x[..., 1::2]
        out = torch.stack((u * a.cos() - v * a.sin(), u * a.sin() + v * a.cos()), dim=-1)
        return out.flatten(-2).to(x.dtype)

    def forward(self, x, mask=None, cache=None, use_cache=False):
        start = 0 if cache is None else cache[0].shape[1]
        latent, rope_key = self.kv_down(x), self.rope(self.k_rope(x), start)
        if cache is not None:
            latent = torch.cat((cache[0], latent), dim=1)
            rope_key = torch.cat((cache[1], rope_key), dim=1)
        split = lambda z: z.unflatten(-1, (self.h, -1)).transpose(1, 2)
        low = self.q_down(x)
        key, value = map(split, self.kv_up(latent).chunk(2, dim=-1))
        scores = split(self.q_up(low)) @ key.mT
        scores = scores + self.rope(split(self.q_rope(low)), start) @ rope_key[:, None].mT
        scores = scores / (self.d + self.r) ** 0.5
        blocked = torch.ones(*scores.shape[-2:], dtype=torch.bool, device=x.device).triu(start + 1)
        if mask is not None:
            blocked = blocked | ~mask
        blocked = blocked.reshape(-1, 1, *scores.shape[-2:])
        weights = scores.masked_fill(blocked, -torch.inf).softmax(dim=-1)
        y = self.proj((weights @ value).transpose(1, 2).flatten(2))
        return (y, (latent, rope_key)) if use_cache else y
