"""One projection for queries, key and value together, cut apart afterwards."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        assert embed_dim % num_heads == 0, "heads must divide the width"
        self.h = num_heads
        self.d = embed_dim // num_heads
        self.qkv = nn.Linear(embed_dim, embed_dim + 2 * self.d, bias=False)
        self.out = nn.Linear(embed_dim, embed_dim, bias=False)
        self.p = dropout

    def load_weights(self, weights):
        parts = [weights[f"W_{name}.weight"] for name in "qkv"]
        self.qkv.weight.copy_(torch.cat(parts))
        self.out.weight.copy_(weights["W_o.weight"])

    def forward(self, x, mask=None):
        c = x.shape[-1]
        q, k, v = self.qkv(x).split([c, self.d, self.d], dim=-1)
        q = q.unflatten(-1, (self.h, self.d)).transpose(1, 2)
        logits = torch.matmul(q, k[:, None].mT) * self.d**-0.5
        if mask is not None:
            if mask.ndim == 3:
                mask = mask[:, None]
            logits = logits.masked_fill(mask.logical_not(), float("-inf"))
        p = F.dropout(F.softmax(logits, -1), self.p, training=self.training)
        return self.out(torch.matmul(p, v[:, None]).transpose(1, 2).flatten(2))
