"""Each head is a module with three small layers of its own, without biases."""

import torch
from torch import nn


class Head(nn.Module):
    def __init__(self, embed_dim, head_dim, dropout):
        super().__init__()
        self.q = nn.Linear(embed_dim, head_dim, bias=False)
        self.k = nn.Linear(embed_dim, head_dim, bias=False)
        self.v = nn.Linear(embed_dim, head_dim, bias=False)
        self.dropout = nn.Dropout(dropout)

    def forward(self, query, key, value, blocked):
        q, k, v = self.q(query), self.k(key), self.v(value)
        logits = torch.bmm(q, k.transpose(1, 2)) / q.shape[-1] ** 0.5
        if blocked is not None:
            logits = logits.masked_fill(blocked, float("-inf"))
        probs = logits.softmax(2)
        return torch.bmm(self.dropout(probs), v), probs


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        head_dim, rest = divmod(embed_dim, num_heads)
        if rest:
            raise ValueError(f"{num_heads} heads cannot share a width of {embed_dim}")
        self.heads = nn.ModuleList(Head(embed_dim, head_dim, dropout) for _ in range(num_heads))
        self.out = nn.Linear(embed_dim, embed_dim, bias=False)

    def load_weights(self, weights):
        for part in "qkv":
            rows_by_head = weights[f"W_{part}.weight"].chunk(len(self.heads))
            for head, rows in zip(self.heads, rows_by_head, strict=True):
                getattr(head, part).weight = nn.Parameter(rows.clone())
        self.out.weight = nn.Parameter(weights["W_o.weight"].clone())

    def forward(self, query, key, value, mask=None):
        blocked = [None] * len(self.heads)
        if mask is not None:
            if (~mask).all(dim=-1).any():
                raise ValueError("a query is blocked from all keys")
            if mask.dim() == 4:
                mask = mask.expand(-1, len(self.heads), -1, -1)
                blocked = [~mask[:, h] for h in range(len(self.heads))]
            else:
                blocked = [~mask] * len(self.heads)
        results = [head(query, key, value, b) for head, b in zip(self.heads, blocked, strict=True)]
        mixed = torch.cat([mixed for mixed, _ in results], dim=-1)
        return self.out(mixed), torch.stack([probs for _, probs in results], dim=1)
