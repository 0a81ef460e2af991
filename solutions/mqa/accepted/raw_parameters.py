"""Parameters with the axes of Shazeer's listing: heads, width of a token, width of a head."""

import torch
from torch import nn


class MultiQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("bad number of heads")
        k = embed_dim // num_heads
        self.P_q = nn.Parameter(torch.empty(num_heads, embed_dim, k))
        self.P_k = nn.Parameter(torch.empty(embed_dim, k))
        self.P_v = nn.Parameter(torch.empty(embed_dim, k))
        self.P_o = nn.Parameter(torch.empty(num_heads, embed_dim, k))
        for p in self.parameters():
            nn.init.normal_(p, std=embed_dim**-0.5)
        self.drop = nn.Dropout(dropout)

    def load_weights(self, weights):
        h, d, k = self.P_q.shape
        self.P_q.copy_(weights["W_q.weight"].view(h, k, d).transpose(1, 2))
        self.P_k.copy_(weights["W_k.weight"].t())
        self.P_v.copy_(weights["W_v.weight"].t())
        self.P_o.copy_(weights["W_o.weight"].view(d, h, k).transpose(0, 1))

    def forward(self, x, mask=None):
        q = torch.einsum("bnd,hdk->bhnk", x, self.P_q)
        k = torch.einsum("bmd,dk->bmk", x, self.P_k)
        v = torch.einsum("bmd,dk->bmk", x, self.P_v)
        logits = torch.einsum("bhnk,bmk->bhnm", q, k) * q.shape[-1] ** -0.5
        if mask is not None:
            mask = mask[:, None] if mask.dim() == 3 else mask
            logits = logits.masked_fill(~mask, float("-inf"))
        shares = self.drop(torch.softmax(logits, -1))
        o = torch.einsum("bhnm,bmk->bhnk", shares, v)
        return torch.einsum("bhnk,hdk->bnd", o, self.P_o)
