"""The scale is folded into the query's weights when these are loaded, or made."""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        assert embed_dim // num_heads * num_heads == embed_dim
        self.num_heads = num_heads
        self.scale = (embed_dim // num_heads) ** -0.5
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, embed_dim)
        self.W_v = nn.Linear(embed_dim, embed_dim)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)
        with torch.no_grad():
            self.W_q.weight.mul_(self.scale)
            self.W_q.bias.mul_(self.scale)

    def load_weights(self, weights):
        self.load_state_dict(weights)
        self.W_q.weight.mul_(self.scale)
        self.W_q.bias.mul_(self.scale)

    def split(self, x):
        return torch.stack(x.tensor_split(self.num_heads, dim=-1), dim=1)

    def forward(self, query, key, value, mask=None):
        scores = self.split(self.W_q(query)) @ self.split(self.W_k(key)).transpose(-1, -2)
        if mask is not None:
            mask = mask if mask.ndim != 3 else mask[:, None, :, :]
            if mask.any(-1).logical_not().any():
                raise ValueError("there is a row without a single allowed key")
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = (scores - scores.amax(-1, keepdim=True)).exp()
        weights = weights / weights.sum(-1, keepdim=True)
        heads = self.dropout(weights) @ self.split(self.W_v(value))
        return self.W_o(torch.cat(heads.unbind(dim=1), dim=-1)), weights
