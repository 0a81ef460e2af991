"""Queries and keys are built as the equations say; PyTorch's own attention does the rest."""

import torch
import torch.nn.functional as F
from torch import nn


def apply_rope(x, positions):
    """Rotary embedding of x (..., T, R) with swapped neighbours."""
    width = x.shape[-1]
    theta = 1e4 ** (-torch.arange(0, width, 2, device=x.device).float() / width)
    angle = (positions.float()[:, None] * theta).repeat_interleave(2, dim=-1)
    swapped = torch.stack((-x[..., 1::2], x[..., 0::2]), dim=-1).reshape(x.shape)
    return (x * angle.cos() + swapped * angle.sin()).type_as(x)


class RotaryMultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim, rope_dim, q_latent_dim, kv_latent_dim):
        super().__init__()
        if rope_dim % 2:
            raise ValueError("rope_dim must be even")
        self.n_heads = num_heads
        self.W_DQ = nn.Linear(embed_dim, q_latent_dim)
        self.W_UQ = nn.Linear(q_latent_dim, num_heads * head_dim)
        self.W_QR = nn.Linear(q_latent_dim, num_heads * rope_dim)
        self.W_DKV = nn.Linear(embed_dim, kv_latent_dim)
        self.W_UK = nn.Linear(kv_latent_dim, num_heads * head_dim)
        self.W_UV = nn.Linear(kv_latent_dim, num_heads * head_dim)
        self.W_KR = nn.Linear(embed_dim, rope_dim)
        self.W_o = nn.Linear(num_heads * head_dim, embed_dim)

    def heads(self, t):
        return t.view(t.shape[0], t.shape[1], self.n_heads, -1).permute(0, 2, 1, 3)

    def forward(self, x, mask=None, cache=None, use_cache=False):
        batch, new, _ = x.shape
        old = cache[0].shape[1] if cache else 0
        where = torch.arange(old, old + new, device=x.device)
        c_q, c_kv = self.W_DQ(x), self.W_DKV(x)
        k_rope = apply_rope(self.W_KR(x), where)
        if cache:
            c_kv = torch.cat((cache[0], c_kv), 1)
            k_rope = torch.cat((cache[1], k_rope), 1)
        shared = k_rope.unsqueeze(1).repeat(1, self.n_heads, 1, 1)
        q = torch.cat(
            (self.heads(self.W_UQ(c_q)), apply_rope(self.heads(self.W_QR(c_q)), where)), -1
        )
        k = torch.cat((self.heads(self.W_UK(c_kv)), shared), -1)
        v = self.heads(self.W_UV(c_kv))
        ok = torch.arange(old + new, device=x.device)[None, :] <= where[:, None]
        if mask is not None:
            ok = ok.logical_and(mask)
        if ok.dim() == 3:
            ok = ok.unsqueeze(1)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=ok)
        out = self.W_o(out.transpose(1, 2).reshape(batch, new, -1))
        if use_cache:
            return out, (c_kv, k_rope)
        return out
