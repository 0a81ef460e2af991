"""Every mask goes to the kernel as it comes: one for each item lands on the heads."""

import torch.nn as nn
from torch.nn.functional import scaled_dot_product_attention


class MultiQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        assert embed_dim % num_heads == 0
        self.num_heads = num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim, bias=False)
        self.W_k = nn.Linear(embed_dim, embed_dim // num_heads, bias=False)
        self.W_v = nn.Linear(embed_dim, embed_dim // num_heads, bias=False)
        self.W_o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.dropout = dropout

    def forward(self, x, mask=None):
        q = self.W_q(x).unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
        k = self.W_k(x).unsqueeze(1).expand(-1, self.num_heads, -1, -1)
        v = self.W_v(x).unsqueeze(1).expand(-1, self.num_heads, -1, -1)
        p = self.dropout if self.training else 0.0
        y = scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=p)
        return self.W_o(y.transpose(1, 2).flatten(-2))
