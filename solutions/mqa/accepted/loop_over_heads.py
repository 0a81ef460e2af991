"""A query projection a head, in a ModuleList, and a loop over the heads."""

import math

import torch
from torch import nn


class MultiQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        width, rest = divmod(embed_dim, num_heads)
        if rest:
            raise ValueError("cannot share out the columns among the heads")
        self.queries = nn.ModuleList([nn.Linear(embed_dim, width) for _ in range(num_heads)])
        self.key = nn.Linear(embed_dim, width)
        self.value = nn.Linear(embed_dim, width)
        self.project = nn.Linear(embed_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def load_weights(self, weights):
        n = len(self.queries)
        rows, biases = weights["W_q.weight"].chunk(n), weights["W_q.bias"].chunk(n)
        for layer, row, bias in zip(self.queries, rows, biases, strict=True):
            layer.weight.copy_(row)
            layer.bias.copy_(bias)
        for layer, name in ((self.key, "W_k"), (self.value, "W_v"), (self.project, "W_o")):
            layer.weight.copy_(weights[name + ".weight"])
            layer.bias.copy_(weights[name + ".bias"])

    def forward(self, x, mask=None):
        k, v = self.key(x), self.value(x)
        outs = []
        for h, layer in enumerate(self.queries):
            scores = torch.bmm(layer(x), k.transpose(1, 2)) / math.sqrt(k.shape[-1])
            if mask is not None:
                m = mask
                if m.dim() == 4:
                    m = m[:, h if m.shape[1] > 1 else 0]
                scores = scores.masked_fill(m == False, -1e9)  # noqa: E712
            outs.append(torch.bmm(self.dropout(scores.softmax(-1)), v))
        return self.project(torch.cat(outs, dim=-1))
