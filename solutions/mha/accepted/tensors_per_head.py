"""Weights are tensors (H, C, D) and (H, D, C); every product is an einsum, nothing is merged."""

import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, dropout: float = 0.0):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("embed_dim must be divisible by num_heads")
        head = embed_dim // num_heads
        self.query_weight = nn.Parameter(torch.randn(num_heads, embed_dim, head) * 0.02)
        self.key_weight = nn.Parameter(torch.randn(num_heads, embed_dim, head) * 0.02)
        self.value_weight = nn.Parameter(torch.randn(num_heads, embed_dim, head) * 0.02)
        self.output_weight = nn.Parameter(torch.randn(num_heads, head, embed_dim) * 0.02)
        self.output_bias = nn.Parameter(torch.zeros(embed_dim))
        self.drop = nn.Dropout(dropout)

    def load_weights(self, weights):
        heads = self.query_weight.shape[0]
        for name, parameter in (
            ("W_q", self.query_weight),
            ("W_k", self.key_weight),
            ("W_v", self.value_weight),
        ):
            rows = weights[f"{name}.weight"]  # (C out, C in), out = head * D + feature
            parameter.copy_(rows.unflatten(0, (heads, -1)).transpose(1, 2))
        self.output_weight.copy_(weights["W_o.weight"].T.unflatten(0, (heads, -1)))
        self.output_bias.copy_(weights["W_o.bias"])

    def forward(self, query, key, value, mask=None):
        q = torch.einsum("btc,hcd->bhtd", query, self.query_weight)
        k = torch.einsum("bsc,hcd->bhsd", key, self.key_weight)
        v = torch.einsum("bsc,hcd->bhsd", value, self.value_weight)
        scores = torch.einsum("bhtd,bhsd->bhts", q, k) * q.shape[-1] ** -0.5
        if mask is not None:
            while mask.dim() < 4:
                mask = mask.unsqueeze(-3)
            if not torch.all(mask.sum(-1) > 0):
                raise ValueError("empty row in mask")
            scores = torch.where(mask, scores, -torch.inf)
        pattern = scores.softmax(-1)
        out = torch.einsum("bhts,bhsd,hdc->btc", self.drop(pattern), v, self.output_weight)
        return out + self.output_bias, pattern
