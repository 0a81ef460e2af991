"""The kernel is given the dropout rate in evaluation too."""

import torch.nn as nn
import torch.nn.functional as F


class MultiQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        assert embed_dim % num_heads == 0
        self.n_head, self.dropout = num_heads, dropout
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, embed_dim // num_heads)
        self.W_v = nn.Linear(embed_dim, embed_dim // num_heads)
        self.W_o = nn.Linear(embed_dim, embed_dim)

    def forward(self, x, mask=None):
        b, t, c = x.shape
        q = self.W_q(x).view(b, t, self.n_head, -1).transpose(1, 2)
        k = self.W_k(x).view(b, t, 1, -1).transpose(1, 2).expand_as(q)
        v = self.W_v(x).view(b, t, 1, -1).transpose(1, 2).expand_as(q)
        if mask is not None and mask.dim() == 3:
            mask = mask[:, None]
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=self.dropout)
        return self.W_o(y.transpose(1, 2).reshape(b, t, c))
