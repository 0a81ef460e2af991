"""PyTorch's own attention does the mixing; the shared head is expanded to all heads."""

import torch.nn as nn
import torch.nn.functional as F


class MultiQueryAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("embed_dim % num_heads != 0")
        self.num_heads, self.head_dim = num_heads, embed_dim // num_heads
        self.W_q = nn.Linear(embed_dim, embed_dim)
        self.W_k = nn.Linear(embed_dim, self.head_dim)
        self.W_v = nn.Linear(embed_dim, self.head_dim)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.dropout = dropout

    def forward(self, x, mask=None):
        B, T, C = x.shape
        q = self.W_q(x).reshape(B, T, self.num_heads, self.head_dim).permute(0, 2, 1, 3)
        k = self.W_k(x).reshape(B, 1, T, self.head_dim).expand(-1, self.num_heads, -1, -1)
        v = self.W_v(x).reshape(B, 1, T, self.head_dim).expand(-1, self.num_heads, -1, -1)
        if mask is not None and mask.dim() == 3:
            mask = mask.unsqueeze(1)
        rate = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=rate)
        return self.W_o(y.permute(0, 2, 1, 3).reshape(B, T, C))
