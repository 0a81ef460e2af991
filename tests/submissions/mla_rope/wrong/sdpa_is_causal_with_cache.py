"""is_causal=True with fewer queries than keys: PyTorch's triangle starts in the upper left corner."""

import torch
import torch.nn.functional as F
from torch import nn


def rotate_pairs(t, first):
    r = t.shape[-1]
    steps = first + torch.arange(t.shape[-2], device=t.device)
    angles = steps.unsqueeze(1) / 10000 ** (torch.arange(0, r, 2, device=t.device) / r)
    x, y = t[..., 0::2], t[..., 1::2]
    u = x * angles.cos() - y * angles.sin()
    w = y * angles.cos() + x * angles.sin()
    return torch.stack((u, w), dim=-1).view(t.shape).to(t.dtype)


class RotaryMultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim, rope_dim, q_latent_dim, kv_latent_dim):
        super().__init__()
        if rope_dim % 2:
            raise ValueError("rope_dim is odd")
        self.num_heads = num_heads
        self.W_DQ = nn.Linear(embed_dim, q_latent_dim, bias=False)
        self.W_UQ = nn.Linear(q_latent_dim, num_heads * head_dim, bias=False)
        self.W_QR = nn.Linear(q_latent_dim, num_heads * rope_dim, bias=False)
        self.W_DKV = nn.Linear(embed_dim, kv_latent_dim, bias=False)
        self.W_UK = nn.Linear(kv_latent_dim, num_heads * head_dim, bias=False)
        self.W_UV = nn.Linear(kv_latent_dim, num_heads * head_dim, bias=False)
        self.W_KR = nn.Linear(embed_dim, rope_dim, bias=False)
        self.W_o = nn.Linear(num_heads * head_dim, embed_dim, bias=False)

    def forward(self, x, mask=None, cache=None, use_cache=False):
        first = 0 if cache is None else cache[0].shape[1]
        c_kv, k_rope = self.W_DKV(x), rotate_pairs(self.W_KR(x), first)
        if cache is not None:
            c_kv = torch.cat((cache[0], c_kv), dim=1)
            k_rope = torch.cat((cache[1], k_rope), dim=1)
        B, S, _ = c_kv.shape
        split = lambda t: t.reshape(B, -1, self.num_heads, t.shape[-1] // self.num_heads).transpose(1, 2)
        c_q = self.W_DQ(x)
        q = torch.cat((split(self.W_UQ(c_q)), rotate_pairs(split(self.W_QR(c_q)), first)), dim=-1)
        k = torch.cat((split(self.W_UK(c_kv)), k_rope[:, None].repeat(1, self.num_heads, 1, 1)), dim=-1)
        v = split(self.W_UV(c_kv))
        if mask is None:
            out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            tri = torch.ones(x.shape[1], S, dtype=torch.bool, device=x.device).tril()
            keep = tri & mask
            keep = keep if keep.dim() == 2 else keep[:, None]
            out = F.scaled_dot_product_attention(q, k, v, attn_mask=keep)
        out = self.W_o(out.transpose(1, 2).reshape(B, x.shape[1], -1))
        return (out, (c_kv, k_rope)) if use_cache else out
