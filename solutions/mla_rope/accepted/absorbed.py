"""W_UK is absorbed into the queries and W_UV into what comes out: keys are never rebuilt."""

import torch
from torch import nn


class RotaryMultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim, rope_dim, q_latent_dim, kv_latent_dim):
        super().__init__()
        if rope_dim % 2 != 0:
            raise ValueError(f"rope_dim has to be even, not {rope_dim}")
        self.num_heads, self.head_dim, self.rope_dim = num_heads, head_dim, rope_dim
        self.kv_latent_dim = kv_latent_dim
        self.W_DQ = nn.Linear(embed_dim, q_latent_dim, bias=False)
        self.W_UQ = nn.Linear(q_latent_dim, num_heads * head_dim, bias=False)
        self.W_QR = nn.Linear(q_latent_dim, num_heads * rope_dim, bias=False)
        self.W_DKV = nn.Linear(embed_dim, kv_latent_dim, bias=False)
        self.W_UK = nn.Linear(kv_latent_dim, num_heads * head_dim, bias=False)
        self.W_UV = nn.Linear(kv_latent_dim, num_heads * head_dim, bias=False)
        self.W_KR = nn.Linear(embed_dim, rope_dim, bias=False)
        self.W_o = nn.Linear(num_heads * head_dim, embed_dim, bias=False)

    def turn(self, x, start):
        """x (B, T, ..., R), turned by position along axis 1."""
        T = x.shape[1]
        frequencies = 10000 ** (-torch.arange(0, self.rope_dim, 2, device=x.device) / self.rope_dim)
        angles = torch.outer(torch.arange(start, start + T, device=x.device).float(), frequencies)
        angles = angles.view(1, T, *[1] * (x.dim() - 3), self.rope_dim // 2)
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        turned = torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles))
        return turned.flatten(-2).to(x.dtype)

    def forward(self, x, mask=None, cache=None, use_cache=False):
        B, T, _ = x.shape
        H, D = self.num_heads, self.head_dim
        start = 0 if cache is None else cache[0].size(1)
        c_q = self.W_DQ(x)
        q_content = self.W_UQ(c_q).view(B, T, H, D)
        q_rope = self.turn(self.W_QR(c_q).view(B, T, H, self.rope_dim), start)
        c_kv, k_rope = self.W_DKV(x), self.turn(self.W_KR(x), start)
        if cache is not None:
            c_kv = torch.cat([cache[0], c_kv], dim=1)
            k_rope = torch.cat([cache[1], k_rope], dim=1)

        up_k = self.W_UK.weight.view(H, D, self.kv_latent_dim)
        up_v = self.W_UV.weight.view(H, D, self.kv_latent_dim)
        q_latent = torch.einsum("bthd,hdc->bthc", q_content, up_k)
        scores = torch.einsum("bthc,bsc->bhts", q_latent, c_kv)
        scores = scores + torch.einsum("bthr,bsr->bhts", q_rope, k_rope)
        scores = scores * (D + self.rope_dim) ** -0.5

        S = c_kv.size(1)
        allowed = torch.ones(T, S, dtype=torch.bool, device=x.device).tril(diagonal=S - T)
        if mask is not None:
            allowed = allowed & mask
        if allowed.dim() == 3:
            allowed = allowed[:, None]
        weights = scores.masked_fill(~allowed, float("-inf")).softmax(dim=-1)
        mixed = torch.einsum("bhts,bsc->bthc", weights, c_kv)
        heads = torch.einsum("bthc,hdc->bthd", mixed, up_v)
        out = self.W_o(heads.reshape(B, T, H * D))
        return (out, (c_kv, k_rope)) if use_cache else out
