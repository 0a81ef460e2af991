"""An ordinary key and value cache, as in multi-head attention, H heads wide."""

import torch
import torch.nn.functional as F
from torch import nn


def rotary(v, pos):
    d = v.shape[-1]
    inv = torch.tensor([10000.0 ** (-2 * i / d) for i in range(d // 2)], device=v.device)
    th = (pos[:, None] * inv).repeat_interleave(2, -1)
    sw = torch.stack((-v[..., 1::2], v[..., 0::2]), -1).flatten(-2)
    return (v * th.cos() + sw * th.sin()).to(v.dtype)


class RotaryMultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim, rope_dim, q_latent_dim, kv_latent_dim):
        super().__init__()
        if rope_dim % 2 != 0:
            raise ValueError("no pairs")
        self.num_heads = num_heads
        self.W_DQ = nn.Linear(embed_dim, q_latent_dim)
        self.W_UQ = nn.Linear(q_latent_dim, num_heads * head_dim)
        self.W_QR = nn.Linear(q_latent_dim, num_heads * rope_dim)
        self.W_DKV = nn.Linear(embed_dim, kv_latent_dim)
        self.W_UK = nn.Linear(kv_latent_dim, num_heads * head_dim)
        self.W_UV = nn.Linear(kv_latent_dim, num_heads * head_dim)
        self.W_KR = nn.Linear(embed_dim, rope_dim)
        self.W_o = nn.Linear(num_heads * head_dim, embed_dim)

    def split(self, t):
        b, n, _ = t.shape
        return t.reshape(b, n, self.num_heads, -1).transpose(1, 2)

    def forward(self, x, mask=None, cache=None, use_cache=False):
        past = 0 if cache is None else cache[0].shape[2]
        pos = torch.arange(past, past + x.shape[1], device=x.device)
        cq, ckv = self.W_DQ(x), self.W_DKV(x)
        q = torch.cat((self.split(self.W_UQ(cq)), rotary(self.split(self.W_QR(cq)), pos)), -1)
        kr = rotary(self.W_KR(x), pos)[:, None].expand(-1, self.num_heads, -1, -1)
        k = torch.cat((self.split(self.W_UK(ckv)), kr), -1)
        v = self.split(self.W_UV(ckv))
        if cache is not None:
            k = torch.cat((cache[0], k), 2)
            v = torch.cat((cache[1], v), 2)
        ok = torch.arange(k.shape[2], device=x.device) <= pos[:, None]
        if mask is not None:
            ok = ok & mask
        if ok.dim() == 3:
            ok = ok[:, None]
        o = F.scaled_dot_product_attention(q, k, v, attn_mask=ok)
        o = self.W_o(o.transpose(1, 2).flatten(2))
        return (o, (k, v)) if use_cache else o
