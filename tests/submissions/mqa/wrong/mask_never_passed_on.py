"""The mask is lifted with care, and then not passed to the kernel."""

import torch.nn as nn
import torch.nn.functional as F


class MultiQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        assert embed_dim % num_heads == 0, "sizes"
        self.heads, self.dropout = num_heads, dropout
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, embed_dim // num_heads)
        self.W_v = nn.Linear(embed_dim, embed_dim // num_heads)
        self.W_o = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, mask=None):
        if mask is not None and mask.dim() == 3:
            mask = mask.unsqueeze(1)
        q = self.W_q(x).unflatten(2, (self.heads, -1)).movedim(2, 1)
        k, v = self.W_k(x).unsqueeze(1).expand_as(q), self.W_v(x).unsqueeze(1).expand_as(q)
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.dropout if self.training else 0.0)
        return self.W_o(y.movedim(1, 2).flatten(2))
