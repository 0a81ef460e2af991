"""RMSNorm stands on both latents, as in the published model's code."""

import torch
import torch.nn.functional as F
from torch import nn


def pairs_turned(x, at):
    n = x.shape[-1]
    angle = at[:, None] * 10000.0 ** (torch.arange(0, n, 2, device=x.device) / -n)
    one, two = x[..., 0::2], x[..., 1::2]
    y = torch.stack((one * angle.cos() - two * angle.sin(), one * angle.sin() + two * angle.cos()), -1)
    return y.flatten(-2).to(x.dtype)


class RMSNorm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(n))

    def forward(self, x):
        return self.gain * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)


class RotaryMultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim, rope_dim, q_latent_dim, kv_latent_dim):
        super().__init__()
        if rope_dim % 2:
            raise ValueError("rope_dim is odd")
        self.n_heads = num_heads
        self.W_DQ = nn.Linear(embed_dim, q_latent_dim, bias=False)
        self.q_norm = RMSNorm(q_latent_dim)
        self.W_UQ = nn.Linear(q_latent_dim, num_heads * head_dim, bias=False)
        self.W_QR = nn.Linear(q_latent_dim, num_heads * rope_dim, bias=False)
        self.W_DKV = nn.Linear(embed_dim, kv_latent_dim, bias=False)
        self.kv_norm = RMSNorm(kv_latent_dim)
        self.W_UK = nn.Linear(kv_latent_dim, num_heads * head_dim, bias=False)
        self.W_UV = nn.Linear(kv_latent_dim, num_heads * head_dim, bias=False)
        self.W_KR = nn.Linear(embed_dim, rope_dim, bias=False)
        self.W_o = nn.Linear(num_heads * head_dim, embed_dim, bias=False)

    def forward(self, x, mask=None, cache=None, use_cache=False):
        b, t, _ = x.shape
        p = 0 if cache is None else cache[0].shape[1]
        at = torch.arange(p, p + t, device=x.device)
        cq = self.q_norm(self.W_DQ(x))
        ckv = self.kv_norm(self.W_DKV(x))
        kr = pairs_turned(self.W_KR(x), at)
        if cache is not None:
            ckv, kr = torch.cat((cache[0], ckv), 1), torch.cat((cache[1], kr), 1)
        h = lambda z: z.view(b, -1, self.n_heads, z.shape[-1] // self.n_heads).transpose(1, 2)
        q = torch.cat((h(self.W_UQ(cq)), pairs_turned(h(self.W_QR(cq)), at)), dim=-1)
        k = torch.cat((h(self.W_UK(ckv)), kr.unsqueeze(1).expand(b, self.n_heads, p + t, -1)), dim=-1)
        ok = torch.ones(t, p + t, dtype=torch.bool, device=x.device).tril(p)
        if mask is not None:
            ok = ok & mask
        ok = ok.view(-1, 1, t, p + t)
        y = F.scaled_dot_product_attention(q, k, h(self.W_UV(ckv)), attn_mask=ok)
        y = self.W_o(y.transpose(1, 2).reshape(b, t, -1))
        return (y, (ckv, kr)) if use_cache else y
