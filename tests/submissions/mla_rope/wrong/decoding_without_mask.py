"""With a cache no causal mask is made: it was written with one new token in mind."""

import torch
import torch.nn.functional as F
from torch import nn


def apply(t, p):
    n = t.shape[-1]
    f = 1e4 ** -(torch.arange(0, n, 2, device=t.device) / n)
    z = torch.view_as_complex(t.float().reshape(*t.shape[:-1], n // 2, 2).contiguous())
    ang = p[:, None].float() * f
    return torch.view_as_real(z * torch.polar(torch.ones_like(ang), ang)).flatten(-2).to(t.dtype)


class RotaryMultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim, rope_dim, q_latent_dim, kv_latent_dim):
        super().__init__()
        if rope_dim & 1:
            raise ValueError("odd rope_dim")
        self.n = num_heads
        hd, hr = num_heads * head_dim, num_heads * rope_dim
        self.W_DQ = nn.Linear(embed_dim, q_latent_dim, bias=False)
        self.W_UQ, self.W_QR = nn.Linear(q_latent_dim, hd, False), nn.Linear(q_latent_dim, hr, False)
        self.W_DKV = nn.Linear(embed_dim, kv_latent_dim, bias=False)
        self.W_UK, self.W_UV = nn.Linear(kv_latent_dim, hd, False), nn.Linear(kv_latent_dim, hd, False)
        self.W_KR, self.W_o = nn.Linear(embed_dim, rope_dim, False), nn.Linear(hd, embed_dim, False)

    def forward(self, x, mask=None, cache=None, use_cache=False):
        def heads(t):
            return t.view(*t.shape[:2], self.n, -1).transpose(1, 2)

        t = x.shape[1]
        start = 0 if cache is None else cache[0].shape[1]
        p = torch.arange(start, start + t, device=x.device)
        latent, rot = self.W_DKV(x), apply(self.W_KR(x), p)
        if cache is None:
            ok = torch.ones(t, t, dtype=torch.bool, device=x.device).tril()
        else:
            latent, rot = torch.cat((cache[0], latent), 1), torch.cat((cache[1], rot), 1)
            ok = torch.ones(t, start + t, dtype=torch.bool, device=x.device)
        if mask is not None:
            ok = ok & mask
        ok = ok.reshape(-1, 1, *ok.shape[-2:])
        cq = self.W_DQ(x)
        q = torch.cat((heads(self.W_UQ(cq)), apply(heads(self.W_QR(cq)), p)), -1)
        k = torch.cat((heads(self.W_UK(latent)), rot.unsqueeze(1).expand(-1, self.n, -1, -1)), -1)
        y = F.scaled_dot_product_attention(q, k, heads(self.W_UV(latent)), attn_mask=ok)
        y = self.W_o(y.transpose(1, 2).flatten(2))
        return (y, (latent, rot)) if use_cache else y
