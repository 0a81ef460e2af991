"""Keys and values are as wide as the model: nothing is shared."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        assert embed_dim % num_heads == 0
        self.nh, self.hs = num_heads, embed_dim // num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, embed_dim)
        self.W_v = nn.Linear(embed_dim, embed_dim)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.p = dropout

    def forward(self, x, mask=None):
        B, T, C = x.shape
        q, k, v = (w(x).view(B, T, self.nh, self.hs).transpose(1, 2) for w in (self.W_q, self.W_k, self.W_v))
        if mask is not None and mask.dim() == 3:
            mask = mask.unsqueeze(1)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=self.p * self.training)
        return self.W_o(y.transpose(1, 2).reshape(B, T, C))
