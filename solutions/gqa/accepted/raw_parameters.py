"""Parameters with axes for groups and heads, contracted by einsum; no Linear anywhere."""

import torch
from torch import nn


class GroupedQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, num_kv_groups, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads or num_heads % num_kv_groups:
            raise ValueError("not divisible")
        g, r, d = num_kv_groups, num_heads // num_kv_groups, embed_dim // num_heads
        self.query = nn.Parameter(torch.randn(g, r, d, embed_dim) * embed_dim**-0.5)
        self.key = nn.Parameter(torch.randn(g, d, embed_dim) * embed_dim**-0.5)
        self.value = nn.Parameter(torch.randn(g, d, embed_dim) * embed_dim**-0.5)
        self.output = nn.Parameter(torch.randn(embed_dim, g, r, d) * embed_dim**-0.5)
        self.rate = dropout

    def load_weights(self, weights):
        for mine, name in (
            (self.query, "W_q"),
            (self.key, "W_k"),
            (self.value, "W_v"),
            (self.output, "W_o"),
        ):
            mine.copy_(weights[f"{name}.weight"].reshape(mine.shape))

    def forward(self, x, mask=None):
        q = torch.einsum("grdc,btc->bgrtd", self.query, x)
        k = torch.einsum("gdc,bsc->bgsd", self.key, x)
        v = torch.einsum("gdc,bsc->bgsd", self.value, x)
        s = torch.einsum("bgrtd,bgsd->bgrts", q, k) * q.size(-1) ** -0.5
        if mask is not None:
            mask = mask.view(-1, 1, *mask.shape[-2:]) if mask.dim() < 4 else mask
            mask = mask.expand(-1, s.size(1) * s.size(2), -1, -1)
            s = s.masked_fill(~mask.unflatten(1, s.shape[1:3]), float("-inf"))
        w = nn.functional.dropout(s.softmax(-1), self.rate, self.training)
        return torch.einsum("bgrts,bgsd,cgrd->btc", w, v, self.output)
