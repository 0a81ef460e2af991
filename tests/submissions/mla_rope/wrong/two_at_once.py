"""Two mistakes: the scale counts the model's width a head, and a given mask replaces the triangle."""

import torch
from torch import nn


class RotaryMultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim, rope_dim, q_latent_dim, kv_latent_dim):
        super().__init__()
        if rope_dim % 2:
            raise ValueError("even, please")
        self.heads, self.scale = num_heads, (embed_dim / num_heads) ** -0.5
        self.W_DQ = nn.Linear(embed_dim, q_latent_dim, bias=False)
        self.W_UQ = nn.Linear(q_latent_dim, num_heads * head_dim, bias=False)
        self.W_QR = nn.Linear(q_latent_dim, num_heads * rope_dim, bias=False)
        self.W_DKV = nn.Linear(embed_dim, kv_latent_dim, bias=False)
        self.W_UK = nn.Linear(kv_latent_dim, num_heads * head_dim, bias=False)
        self.W_UV = nn.Linear(kv_latent_dim, num_heads * head_dim, bias=False)
        self.W_KR = nn.Linear(embed_dim, rope_dim, bias=False)
        self.W_o = nn.Linear(num_heads * head_dim, embed_dim, bias=False)

    @staticmethod
    def wheel(x, pos):
        n = x.shape[-1]
        a = pos.unsqueeze(-1) * 10000.0 ** (-torch.arange(0, n, 2, device=x.device) / n)
        x0, x1 = x[..., 0::2], x[..., 1::2]
        y = torch.stack((x0 * a.cos() - x1 * a.sin(), x0 * a.sin() + x1 * a.cos()), dim=-1)
        return y.flatten(-2).to(x.dtype)

    def forward(self, x, mask=None, cache=None, use_cache=False):
        b, t, _ = x.shape
        old = 0 if cache is None else cache[0].shape[1]
        pos = torch.arange(old, old + t, device=x.device)
        c, r = self.W_DKV(x), self.wheel(self.W_KR(x), pos)
        if cache is not None:
            c, r = torch.cat((cache[0], c), dim=1), torch.cat((cache[1], r), dim=1)
        cq = self.W_DQ(x)
        view = lambda z: z.view(b, z.shape[1], self.heads, -1).transpose(1, 2)
        s = view(self.W_UQ(cq)) @ view(self.W_UK(c)).transpose(-1, -2)
        s = s + self.wheel(view(self.W_QR(cq)), pos) @ r.unsqueeze(1).transpose(-1, -2)
        if mask is None:
            mask = torch.arange(old + t, device=x.device) <= pos.unsqueeze(-1)
        if mask.dim() == 3:
            mask = mask.unsqueeze(1)
        w = (s * self.scale).masked_fill(~mask, float("-inf")).softmax(-1)
        y = self.W_o((w @ view(self.W_UV(c))).transpose(1, 2).reshape(b, t, -1))
        return (y, (c, r)) if use_cache else y
