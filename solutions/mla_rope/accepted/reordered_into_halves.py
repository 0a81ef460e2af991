"""Rotary columns are stored in halves inside, with W_QR's and W_KR's rows put in that order.

The cached rotary keys are put back into the order of the equations.
"""

import torch
from torch import nn


def rotate_half(x):
    left, right = x.chunk(2, dim=-1)
    return torch.cat((-right, left), dim=-1)


class RotaryMultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim, rope_dim, q_latent_dim, kv_latent_dim):
        super().__init__()
        if rope_dim % 2 > 0:
            raise ValueError("halves of an odd width")
        self.num_heads, self.head_dim, self.rope_dim = num_heads, head_dim, rope_dim
        self.down = nn.ModuleDict(
            {
                "q": nn.Linear(embed_dim, q_latent_dim, bias=False),
                "kv": nn.Linear(embed_dim, kv_latent_dim, bias=False),
                "rope": nn.Linear(embed_dim, rope_dim, bias=False),
            }
        )
        self.up = nn.ModuleDict(
            {
                "q": nn.Linear(q_latent_dim, num_heads * head_dim, bias=False),
                "rope": nn.Linear(q_latent_dim, num_heads * rope_dim, bias=False),
                "kv": nn.Linear(kv_latent_dim, 2 * num_heads * head_dim, bias=False),
            }
        )
        self.o = nn.Linear(num_heads * head_dim, embed_dim, bias=False)

    def load_weights(self, weights):
        evens, odds = torch.arange(0, self.rope_dim, 2), torch.arange(1, self.rope_dim, 2)
        order = torch.cat((evens, odds))
        rows = torch.cat([order + h * self.rope_dim for h in range(self.num_heads)])
        pairs = [
            (self.down["q"], weights["W_DQ.weight"]),
            (self.down["kv"], weights["W_DKV.weight"]),
            (self.down["rope"], weights["W_KR.weight"][order]),
            (self.up["q"], weights["W_UQ.weight"]),
            (self.up["rope"], weights["W_QR.weight"][rows]),
            (self.up["kv"], torch.cat((weights["W_UK.weight"], weights["W_UV.weight"]))),
            (self.o, weights["W_o.weight"]),
        ]
        for linear, weight in pairs:
            linear.weight.data = weight.detach().clone()

    def rope(self, x, first):
        positions = torch.arange(first, first + x.shape[-2], device=x.device).float()
        speed = torch.exp(
            torch.arange(0, self.rope_dim, 2, device=x.device)
            * (-9.210340371976184 / self.rope_dim)
        )
        angle = torch.cat([positions[:, None] * speed] * 2, dim=-1)
        return (x * angle.cos() + rotate_half(x) * angle.sin()).to(x.dtype)

    def forward(self, x, mask=None, cache=None, use_cache=False):
        past = 0 if cache is None else cache[0].shape[1]
        latent = self.down["kv"](x)
        k_rope = self.rope(self.down["rope"](x), past).unflatten(-1, (2, -1)).mT.flatten(-2)
        if cache is not None:
            latent, k_rope = (
                torch.cat((old, new), dim=1)
                for old, new in zip(cache, (latent, k_rope), strict=True)
            )
        in_halves = k_rope.unflatten(-1, (-1, 2)).mT.flatten(-2)
        c_q = self.down["q"](x)
        q = self.up["q"](c_q).unflatten(-1, (self.num_heads, -1)).movedim(2, 1)
        q_rope = self.rope(
            self.up["rope"](c_q).unflatten(-1, (self.num_heads, -1)).movedim(2, 1), past
        )
        k, v = (
            part.unflatten(-1, (self.num_heads, -1)).movedim(2, 1)
            for part in self.up["kv"](latent).chunk(2, dim=-1)
        )
        scores = (q @ k.mT + q_rope @ in_halves[:, None].mT) / (
            self.head_dim + self.rope_dim
        ) ** 0.5
        future = torch.ones_like(scores[0, 0], dtype=torch.bool).triu(past + 1)
        scores = scores.masked_fill(future, -1e30 if scores.dtype != torch.float16 else -6e4)
        if mask is not None:
            scores = scores.masked_fill(~(mask if mask.ndim == 2 else mask[:, None]), -torch.inf)
        out = self.o((scores.softmax(-1) @ v).movedim(1, 2).flatten(2))
        return (out, (latent, k_rope)) if use_cache else out
