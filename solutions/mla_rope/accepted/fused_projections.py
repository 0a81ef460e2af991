"""Down- and up-projections are fused as in DeepSeek's own code; load_weights packs them."""

import math

import torch
from torch import nn


class RotaryMultiHeadLatentAttention(nn.Module):
    """down: [latent of q | latent of kv | rotary key]; q_up and kv_up: head by head."""

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        head_dim: int,
        rope_dim: int,
        q_latent_dim: int,
        kv_latent_dim: int,
    ) -> None:
        if rope_dim % 2 == 1:
            raise ValueError("rope_dim is odd")
        super().__init__()
        self.h, self.d, self.r = num_heads, head_dim, rope_dim
        self.parts = [q_latent_dim, kv_latent_dim, rope_dim]
        self.down = nn.Linear(embed_dim, sum(self.parts), bias=False)
        self.q_up = nn.Linear(q_latent_dim, num_heads * (head_dim + rope_dim), bias=False)
        self.kv_up = nn.Linear(kv_latent_dim, num_heads * 2 * head_dim, bias=False)
        self.out = nn.Linear(num_heads * head_dim, embed_dim, bias=False)

    def load_weights(self, weights):
        w = {name.removesuffix(".weight"): tensor for name, tensor in weights.items()}
        per_head = {n: w[n].unflatten(0, (self.h, -1)) for n in ("W_UQ", "W_QR", "W_UK", "W_UV")}
        self.down.weight.copy_(torch.cat((w["W_DQ"], w["W_DKV"], w["W_KR"])))
        self.q_up.weight.copy_(torch.cat((per_head["W_UQ"], per_head["W_QR"]), 1).flatten(0, 1))
        self.kv_up.weight.copy_(torch.cat((per_head["W_UK"], per_head["W_UV"]), 1).flatten(0, 1))
        self.out.weight.copy_(w["W_o"])

    def rope(self, x, angles):
        a, b = x.unflatten(-1, (-1, 2)).unbind(-1)
        cos, sin = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        return torch.stack((a * cos - b * sin, b * cos + a * sin), dim=-1).flatten(-2)

    def forward(self, x, mask=None, cache=None, use_cache=False):
        b, t, _ = x.shape
        past = 0 if cache is None else cache[1].shape[1]
        inverse = 1.0 / 10000 ** (torch.arange(0, self.r, 2, device=x.device) / self.r)
        angles = torch.arange(past, past + t, device=x.device).unsqueeze(-1) * inverse
        q_latent, c_kv, k_rope = self.down(x).split(self.parts, dim=-1)
        k_rope = self.rope(k_rope, angles)
        if cache is not None:
            c_kv = torch.cat((cache[0], c_kv), 1)
            k_rope = torch.cat((cache[1], k_rope), 1)
        s = past + t
        q = self.q_up(q_latent).view(b, t, self.h, -1).transpose(1, 2)
        q, q_rope = q.split((self.d, self.r), dim=-1)
        k, v = self.kv_up(c_kv).view(b, s, self.h, -1).transpose(1, 2).chunk(2, dim=-1)
        scores = q @ k.mT + self.rope(q_rope, angles) @ k_rope[:, None].mT
        scores = scores / math.sqrt(self.d + self.r)
        blocked = torch.ones(t, s, dtype=torch.bool, device=x.device).triu(past + 1)
        if mask is not None:
            blocked = blocked | ~mask
        blocked = blocked.view(-1, 1, t, s)
        scores = scores.masked_fill(blocked, torch.finfo(scores.dtype).min)
        output = self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, -1))
        return (output, (c_kv, k_rope)) if use_cache else output
