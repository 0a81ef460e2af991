"""The heads' query layers lie in a plain list, where nothing finds them."""

import torch
from torch import nn


class MultiQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        assert embed_dim % num_heads == 0
        d = embed_dim // num_heads
        self.query_layers = [nn.Linear(embed_dim, d) for _ in range(num_heads)]
        self.W_k, self.W_v = nn.Linear(embed_dim, d), nn.Linear(embed_dim, d)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def load_weights(self, weights):
        for end in ("weight", "bias"):
            pieces = weights[f"W_q.{end}"].chunk(len(self.query_layers))
            for layer, piece in zip(self.query_layers, pieces):
                getattr(layer, end).copy_(piece)
            for name in ("W_k", "W_v", "W_o"):
                getattr(getattr(self, name), end).copy_(weights[f"{name}.{end}"])

    def forward(self, x, mask=None):
        k, v = self.W_k(x), self.W_v(x)
        q = torch.stack([layer(x) for layer in self.query_layers], dim=1)
        s = q @ k.unsqueeze(1).transpose(-1, -2) / k.shape[-1] ** 0.5
        if mask is not None:
            s = s.masked_fill(~(mask.unsqueeze(1) if mask.dim() == 3 else mask), float("-inf"))
        y = self.dropout(s.softmax(-1)) @ v.unsqueeze(1)
        return self.W_o(torch.cat(list(y.unbind(1)), dim=-1))
