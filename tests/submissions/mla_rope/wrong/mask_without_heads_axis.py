"""A mask (B, T, S) meets the scores (B, H, T, S) as it is."""

import torch
import torch.nn.functional as F
from torch import nn


def spin(v, t):
    k = v.shape[-1] // 2
    a = t[:, None].double() * 10000.0 ** (-torch.arange(k, device=v.device).double() / k)
    p, q = v.unflatten(-1, (k, 2)).unbind(-1)
    return torch.stack((p * a.cos() - q * a.sin(), p * a.sin() + q * a.cos()), -1).flatten(-2).to(v)


class RotaryMultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim, rope_dim, q_latent_dim, kv_latent_dim):
        super().__init__()
        if rope_dim % 2:
            raise ValueError(rope_dim)
        self.num_heads = num_heads
        self.W_DQ = nn.Linear(embed_dim, q_latent_dim)
        self.W_UQ = nn.Linear(q_latent_dim, num_heads * head_dim)
        self.W_QR = nn.Linear(q_latent_dim, num_heads * rope_dim)
        self.W_DKV = nn.Linear(embed_dim, kv_latent_dim)
        self.W_UK = nn.Linear(kv_latent_dim, num_heads * head_dim)
        self.W_UV = nn.Linear(kv_latent_dim, num_heads * head_dim)
        self.W_KR = nn.Linear(embed_dim, rope_dim)
        self.W_o = nn.Linear(num_heads * head_dim, embed_dim)

    def forward(self, x, mask=None, cache=None, use_cache=False):
        seen = 0 if cache is None else cache[0].size(1)
        now = torch.arange(seen, seen + x.size(1)).to(x.device)
        latent, rope_key = self.W_DKV(x), spin(self.W_KR(x), now)
        if cache is not None:
            latent = torch.cat((cache[0], latent), 1)
            rope_key = torch.cat((cache[1], rope_key), 1)
        into_heads = lambda u: torch.stack(u.chunk(self.num_heads, dim=-1), dim=1)
        cq = self.W_DQ(x)
        q = torch.cat((into_heads(self.W_UQ(cq)), spin(into_heads(self.W_QR(cq)), now)), -1)
        k_c = into_heads(self.W_UK(latent))
        k = torch.cat((k_c, rope_key[:, None].expand(-1, self.num_heads, -1, -1)), -1)
        allow = torch.arange(seen + x.size(1)).to(x.device)[None] <= now[:, None]
        if mask is not None:
            allow = allow & mask
        y = F.scaled_dot_product_attention(q, k, into_heads(self.W_UV(latent)), attn_mask=allow)
        y = self.W_o(torch.cat(y.unbind(1), dim=-1))
        return (y, (latent, rope_key)) if use_cache else y
