"""PyTorch's own attention after the latents are unpacked."""

import torch.nn.functional as F
from torch import nn


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, q_latent_dim, kv_latent_dim, dropout=0.0):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("embed_dim, num_heads")
        self.num_heads = num_heads
        self.W_DQ = nn.Linear(embed_dim, q_latent_dim)
        self.W_UQ = nn.Linear(q_latent_dim, embed_dim)
        self.W_DKV = nn.Linear(embed_dim, kv_latent_dim)
        self.W_UK = nn.Linear(kv_latent_dim, embed_dim)
        self.W_UV = nn.Linear(kv_latent_dim, embed_dim)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.p = dropout

    def heads(self, z):
        return z.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)

    def forward(self, x, mask=None):
        latent = self.W_DKV(x)
        q, k, v = (
            self.heads(z) for z in (self.W_UQ(self.W_DQ(x)), self.W_UK(latent), self.W_UV(latent))
        )
        if mask is not None and mask.dim() == 3:
            mask = mask.unsqueeze(1)
        y = F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, dropout_p=self.p if self.training else 0.0
        )
        return self.W_o(y.transpose(1, 2).flatten(-2)), latent
