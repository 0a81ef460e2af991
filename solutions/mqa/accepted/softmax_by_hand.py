"""Key and value from one layer; softmax, mask and dropout are written out."""

import torch
from torch import nn


class MultiQueryAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("width and heads do not fit")
        self.heads, self.rate = num_heads, dropout
        self.to_q = nn.Linear(embed_dim, embed_dim)
        self.to_kv = nn.Linear(embed_dim, 2 * (embed_dim // num_heads))
        self.to_out = nn.Linear(embed_dim, embed_dim)

    def load_weights(self, weights):
        for end in ("weight", "bias"):
            getattr(self.to_q, end).copy_(weights[f"W_q.{end}"])
            getattr(self.to_kv, end).copy_(
                torch.cat([weights[f"W_k.{end}"], weights[f"W_v.{end}"]])
            )
            getattr(self.to_out, end).copy_(weights[f"W_o.{end}"])

    def forward(self, x, mask=None):
        k, v = self.to_kv(x).chunk(2, dim=-1)
        heads = []
        for q in self.to_q(x).chunk(self.heads, dim=-1):
            heads.append(q @ k.transpose(-2, -1))
        s = torch.stack(heads, dim=1) / k.shape[-1] ** 0.5
        if mask is None:
            mask = torch.ones(1, 1, 1, 1, dtype=torch.bool, device=x.device)
        if mask.dim() == 3:
            mask = mask.unsqueeze(1)
        s = torch.where(mask, s, -torch.inf)
        e = torch.exp(s - s.amax(-1, keepdim=True).detach())
        w = e / e.sum(-1, keepdim=True)
        if self.training and self.rate > 0:
            w = w * (torch.rand_like(w) >= self.rate) / (1 - self.rate)
        mixed = w @ v.unsqueeze(1)
        return self.to_out(torch.cat(mixed.unbind(1), dim=-1))
