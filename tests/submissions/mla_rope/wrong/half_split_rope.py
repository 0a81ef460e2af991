"""rotate_half, as in most libraries, in a module that is otherwise right."""

import torch
import torch.nn.functional as F
from torch import nn


def rotate_half(u):
    return torch.cat((-u[..., u.shape[-1] // 2 :], u[..., : u.shape[-1] // 2]), dim=-1)


class RotaryMultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim, rope_dim, q_latent_dim, kv_latent_dim):
        super().__init__()
        if rope_dim % 2:
            raise ValueError("rope_dim has no half")
        self.num_heads, self.rope_dim = num_heads, rope_dim
        self.W_DQ = nn.Linear(embed_dim, q_latent_dim, bias=False)
        self.W_UQ = nn.Linear(q_latent_dim, num_heads * head_dim, bias=False)
        self.W_QR = nn.Linear(q_latent_dim, num_heads * rope_dim, bias=False)
        self.W_DKV = nn.Linear(embed_dim, kv_latent_dim, bias=False)
        self.W_UK = nn.Linear(kv_latent_dim, num_heads * head_dim, bias=False)
        self.W_UV = nn.Linear(kv_latent_dim, num_heads * head_dim, bias=False)
        self.W_KR = nn.Linear(embed_dim, rope_dim, bias=False)
        self.W_o = nn.Linear(num_heads * head_dim, embed_dim, bias=False)

    def cos_sin(self, start, length, like):
        inv = 1.0 / 10000 ** (torch.arange(0, self.rope_dim, 2, device=like.device) / self.rope_dim)
        freqs = torch.outer(torch.arange(start, start + length, device=like.device).float(), inv)
        emb = torch.cat((freqs, freqs), dim=-1)
        return emb.cos().to(like.dtype), emb.sin().to(like.dtype)

    def forward(self, x, mask=None, cache=None, use_cache=False):
        bsz, q_len, _ = x.shape
        kv_len = q_len + (cache[0].shape[1] if cache is not None else 0)
        cos, sin = self.cos_sin(kv_len - q_len, q_len, x)
        q_low = self.W_DQ(x)
        q_nope = self.W_UQ(q_low).view(bsz, q_len, self.num_heads, -1).transpose(1, 2)
        q_pe = self.W_QR(q_low).view(bsz, q_len, self.num_heads, -1).transpose(1, 2)
        q_pe = q_pe * cos + rotate_half(q_pe) * sin
        kv_low, k_pe = self.W_DKV(x), self.W_KR(x)
        k_pe = k_pe * cos + rotate_half(k_pe) * sin
        if cache is not None:
            kv_low = torch.cat((cache[0], kv_low), dim=1)
            k_pe = torch.cat((cache[1], k_pe), dim=1)
        k_nope = self.W_UK(kv_low).view(bsz, kv_len, self.num_heads, -1).transpose(1, 2)
        value = self.W_UV(kv_low).view(bsz, kv_len, self.num_heads, -1).transpose(1, 2)
        query = torch.cat((q_nope, q_pe), dim=-1)
        key = torch.cat((k_nope, k_pe[:, None].expand(-1, self.num_heads, -1, -1)), dim=-1)
        keep = torch.ones(q_len, kv_len, dtype=torch.bool, device=x.device).tril(kv_len - q_len)
        if mask is not None:
            keep = keep & mask
        keep = keep.view(-1, 1, q_len, kv_len)
        attn = F.scaled_dot_product_attention(query, key, value, attn_mask=keep)
        attn = self.W_o(attn.transpose(1, 2).reshape(bsz, q_len, -1))
        return (attn, (kv_low, k_pe)) if use_cache else attn
