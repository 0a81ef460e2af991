"""A small multi-query layer for each group, one after the other."""

import torch
from torch import nn


class OneGroup(nn.Module):
    def __init__(self, embed_dim, heads, width):
        super().__init__()
        self.heads = heads
        self.q = nn.Linear(embed_dim, heads * width)
        self.k = nn.Linear(embed_dim, width)
        self.v = nn.Linear(embed_dim, width)

    def forward(self, x, mask, dropout):
        k, v = self.k(x), self.v(x)
        out = []
        for i, q in enumerate(self.q(x).chunk(self.heads, dim=-1)):
            s = q @ k.mT * k.shape[-1] ** -0.5
            if mask is not None:
                m = mask[:, i] if mask.dim() == 4 else mask
                s = s.masked_fill(~m, -torch.inf)
            out.append(dropout(s.softmax(-1)) @ v)
        return torch.cat(out, -1)


class GroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_kv_groups, dropout=0.0):
        super().__init__()
        assert embed_dim % num_heads == 0, "embed_dim"
        assert num_heads % num_kv_groups == 0, "num_kv_groups"
        per_group = num_heads // num_kv_groups
        width = embed_dim // num_heads
        self.parts = nn.ModuleList(
            OneGroup(embed_dim, per_group, width) for _ in range(num_kv_groups)
        )
        self.out = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def load_weights(self, weights):
        n = len(self.parts)
        for name in "qkv":
            for end in ("weight", "bias"):
                pieces = weights[f"W_{name}.{end}"].chunk(n)
                for part, piece in zip(self.parts, pieces, strict=True):
                    getattr(getattr(part, name), end).copy_(piece)
        self.out.weight.copy_(weights["W_o.weight"])
        self.out.bias.copy_(weights["W_o.bias"])

    def forward(self, x, mask=None):
        outs = []
        for g, part in enumerate(self.parts):
            m = mask
            if mask is not None and mask.dim() == 4 and mask.shape[1] > 1:
                m = mask[:, g * part.heads : (g + 1) * part.heads]
            elif mask is not None and mask.dim() == 4:
                m = mask.squeeze(1)
            outs.append(part(x, m, self.dropout))
        return self.out(torch.cat(outs, -1))
