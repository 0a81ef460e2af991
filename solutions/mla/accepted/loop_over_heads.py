"""Head by head, with the rows of each matrix that belong to it; the pair comes as a list."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, q_latent_dim, kv_latent_dim, dropout=0.0):
        super().__init__()
        assert embed_dim % num_heads == 0, "embed_dim must be a multiple of num_heads"
        self.num_heads = num_heads
        self.W_DQ = nn.Linear(embed_dim, q_latent_dim, bias=False)
        self.W_UQ = nn.Linear(q_latent_dim, embed_dim, bias=False)
        self.W_DKV = nn.Linear(embed_dim, kv_latent_dim, bias=False)
        self.W_UK = nn.Linear(kv_latent_dim, embed_dim, bias=False)
        self.W_UV = nn.Linear(kv_latent_dim, embed_dim, bias=False)
        self.W_o = nn.Linear(embed_dim, embed_dim, bias=False)
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, x, mask=None):
        c_q, c_kv = self.W_DQ(x), self.W_DKV(x)
        ups = [w.weight.chunk(self.num_heads) for w in (self.W_UQ, self.W_UK, self.W_UV)]
        outs = []
        for head, (up_q, up_k, up_v) in enumerate(zip(*ups, strict=True)):
            q, k, v = F.linear(c_q, up_q), F.linear(c_kv, up_k), F.linear(c_kv, up_v)
            score = torch.einsum("btd,bsd->bts", q, k) / math.sqrt(q.shape[-1])
            if mask is not None:
                m = mask if mask.dim() < 4 else mask.select(1, head % mask.shape[1])
                score = score.masked_fill(torch.logical_not(m), -math.inf)
            outs.append(torch.einsum("bts,bsd->btd", self.dropout(F.softmax(score, 2)), v))
        return [self.W_o(torch.cat(outs, 2)), c_kv]
