"""The fused layer is right, but load_weights turns every matrix around."""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("width")
        self.h = num_heads
        self.qkv = nn.Linear(embed_dim, 3 * embed_dim)
        self.out = nn.Linear(embed_dim, embed_dim)
        self.drop = nn.Dropout(dropout)

    def load_weights(self, weights):
        names = ("W_q", "W_k", "W_v")
        self.qkv.weight.copy_(torch.cat([weights[f"{n}.weight"].T for n in names]))
        self.qkv.bias.zero_()
        self.out.weight.copy_(weights["W_o.weight"].T)
        self.out.bias.zero_()

    def forward(self, query, key, value, mask=None):
        each = [self.qkv(x).chunk(3, -1) for x in (query, key, value)]
        q, k, v = each[0][0], each[1][1], each[2][2]
        q, k, v = (x.unflatten(2, (self.h, -1)).transpose(1, 2) for x in (q, k, v))
        scores = q @ k.mT * k.shape[-1] ** -0.5
        if mask is not None:
            mask = mask.unsqueeze(1) if mask.ndim == 3 else mask
            if not mask.any(-1).all():
                raise ValueError("no key")
            scores = scores.masked_fill(~mask, -torch.inf)
        weights = scores.softmax(-1)
        return self.out((self.drop(weights) @ v).transpose(1, 2).flatten(2)), weights
