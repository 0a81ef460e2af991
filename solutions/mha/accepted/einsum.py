"""Heads stay on the third axis, as (B, T, H, D), and einsum says what is summed."""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        assert embed_dim % num_heads == 0
        self.num_heads = num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (
            nn.Linear(embed_dim, embed_dim, bias=False) for _ in range(4)
        )
        self.p = dropout

    def forward(self, query, key, value, mask=None):
        q = self.W_q(query).unflatten(2, (self.num_heads, -1))
        k = self.W_k(key).unflatten(2, (self.num_heads, -1))
        v = self.W_v(value).unflatten(2, (self.num_heads, -1))
        energy = torch.einsum("bqhd,bkhd->bhqk", q, k) / (q.shape[-1] ** 0.5)
        if mask is not None:
            if mask.dim() == 3:
                mask = mask.unsqueeze(1)
            if bool((mask.sum(dim=-1) == 0).any()):
                raise ValueError("no key left for a query")
            energy = energy + torch.zeros_like(energy).masked_fill(~mask, float("-inf"))
        attention = torch.softmax(energy, dim=-1)
        dropped = torch.nn.functional.dropout(attention, self.p, self.training)
        mixed = torch.einsum("bhqk,bkhd->bqhd", dropped, v)
        return self.W_o(mixed.reshape(*mixed.shape[:2], -1)), attention
