"""One matrix a head between the two latents, and one from the mixed latent to the output."""

import torch
import torch.nn as nn


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, q_latent_dim, kv_latent_dim, dropout=0.0):
        super().__init__()
        assert embed_dim % num_heads == 0
        self.num_heads = num_heads
        self.W_DQ = nn.Linear(embed_dim, q_latent_dim, bias=False)
        self.W_UQ = nn.Linear(q_latent_dim, embed_dim, bias=False)
        self.W_DKV = nn.Linear(embed_dim, kv_latent_dim, bias=False)
        self.W_UK = nn.Linear(kv_latent_dim, embed_dim, bias=False)
        self.W_UV = nn.Linear(kv_latent_dim, embed_dim, bias=False)
        self.W_o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.rate = dropout

    def forward(self, x, mask=None):
        n = self.num_heads
        uq, uk, uv = (m.weight.unflatten(0, (n, -1)) for m in (self.W_UQ, self.W_UK, self.W_UV))
        wo = self.W_o.weight.unflatten(1, (n, -1))
        between = uq.mT @ uk / uq.shape[1] ** 0.5
        outwards = torch.einsum("chd,hdl->hlc", wo, uv)
        c_q, c_kv = self.W_DQ(x), self.W_DKV(x)
        scores = c_q.unsqueeze(1) @ between @ c_kv.unsqueeze(1).mT
        if mask is not None:
            if mask.dim() == 3:
                mask = mask[:, None]
            scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
        weights = nn.functional.dropout(scores.softmax(-1), self.rate, self.training)
        output = (weights @ c_kv.unsqueeze(1) @ outwards).sum(1)
        return output, c_kv
