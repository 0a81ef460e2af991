"""RoPE runs over all heads' rotary queries at once, as if they were one long vector."""

import torch
from torch import nn


def rope(x, offset):
    *_, T, D = x.shape
    t = torch.arange(offset, offset + T, device=x.device, dtype=torch.float32)
    w = 10000 ** (-torch.arange(0, D, 2, device=x.device, dtype=torch.float32) / D)
    z = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2)) * torch.exp(
        1j * t[:, None] * w
    )
    return torch.view_as_real(z).reshape(x.shape).to(x.dtype)


class RotaryMultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim, rope_dim, q_latent_dim, kv_latent_dim):
        super().__init__()
        if rope_dim % 2 != 0:
            raise ValueError("rope_dim % 2 != 0")
        self.h, self.width = num_heads, head_dim + rope_dim
        self.W_DQ = nn.Linear(embed_dim, q_latent_dim, bias=False)
        self.W_UQ = nn.Linear(q_latent_dim, num_heads * head_dim, bias=False)
        self.W_QR = nn.Linear(q_latent_dim, num_heads * rope_dim, bias=False)
        self.W_DKV = nn.Linear(embed_dim, kv_latent_dim, bias=False)
        self.W_UK = nn.Linear(kv_latent_dim, num_heads * head_dim, bias=False)
        self.W_UV = nn.Linear(kv_latent_dim, num_heads * head_dim, bias=False)
        self.W_KR = nn.Linear(embed_dim, rope_dim, bias=False)
        self.W_o = nn.Linear(num_heads * head_dim, embed_dim, bias=False)

    def forward(self, x, mask=None, cache=None, use_cache=False):
        offset = 0 if cache is None else cache[1].shape[1]
        q_latent = self.W_DQ(x)
        q_rope = rope(self.W_QR(q_latent), offset)
        new = [self.W_DKV(x), rope(self.W_KR(x), offset)]
        c_kv, k_rope = new if cache is None else [torch.cat(p, 1) for p in zip(cache, new)]
        outs = []
        q_c, q_r = self.W_UQ(q_latent).chunk(self.h, -1), q_rope.chunk(self.h, -1)
        k_c, v_c = self.W_UK(c_kv).chunk(self.h, -1), self.W_UV(c_kv).chunk(self.h, -1)
        rows = torch.arange(offset, offset + x.shape[1], device=x.device).unsqueeze(1)
        block = torch.arange(c_kv.shape[1], device=x.device).unsqueeze(0) > rows
        if mask is not None:
            block = block | ~mask
        for i in range(self.h):
            s = (q_c[i] @ k_c[i].mT + q_r[i] @ k_rope.mT) / self.width**0.5
            outs.append(s.masked_fill(block, -torch.inf).softmax(-1) @ v_c[i])
        y = self.W_o(torch.cat(outs, dim=-1))
        return (y, (c_kv, k_rope)) if use_cache else y
