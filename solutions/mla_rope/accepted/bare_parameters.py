"""Weights are bare tensors, one slice a head; a list is the cache; softmax is written out."""

import torch
from torch import nn


class RotaryMultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim, rope_dim, q_latent_dim, kv_latent_dim):
        super().__init__()
        if rope_dim & 1:
            raise ValueError("rope_dim")
        self.size = num_heads, head_dim, rope_dim
        self.down_q = nn.Parameter(torch.randn(q_latent_dim, embed_dim) * embed_dim**-0.5)
        self.down_kv = nn.Parameter(torch.randn(kv_latent_dim, embed_dim) * embed_dim**-0.5)
        self.rope_k = nn.Parameter(torch.randn(rope_dim, embed_dim) * embed_dim**-0.5)
        self.up_q = nn.Parameter(torch.randn(num_heads, head_dim, q_latent_dim))
        self.rope_q = nn.Parameter(torch.randn(num_heads, rope_dim, q_latent_dim))
        self.up_k = nn.Parameter(torch.randn(num_heads, head_dim, kv_latent_dim))
        self.up_v = nn.Parameter(torch.randn(num_heads, head_dim, kv_latent_dim))
        self.out = nn.Parameter(torch.randn(embed_dim, num_heads, head_dim))

    def load_weights(self, weights):
        mine = {
            "W_DQ": "down_q", "W_DKV": "down_kv", "W_KR": "rope_k", "W_UQ": "up_q",
            "W_QR": "rope_q", "W_UK": "up_k", "W_UV": "up_v", "W_o": "out",
        }  # fmt: skip
        for name, own in mine.items():
            old = getattr(self, own)
            setattr(self, own, nn.Parameter(weights[f"{name}.weight"].reshape(old.shape).clone()))

    def turn(self, x, start):
        """x (B, T, R) or (B, H, T, R)."""
        width = self.size[2]
        steps = torch.arange(start, start + x.shape[-2], device=x.device, dtype=torch.float32)
        pair = torch.arange(width // 2, device=x.device, dtype=torch.float32)
        angle = steps[:, None] * torch.exp2(pair * (-2 / width * 13.287712379549449))
        matrix = torch.stack((angle.cos(), -angle.sin(), angle.sin(), angle.cos()), -1)
        matrix = matrix.unflatten(-1, (2, 2)).to(x.dtype)
        return (matrix @ x.unflatten(-1, (-1, 2)).unsqueeze(-1)).squeeze(-1).flatten(-2)

    def forward(self, x, mask=None, cache=None, use_cache=False):
        _, width, rope = self.size
        past = 0 if cache is None else cache[0].shape[1]
        latent = torch.einsum("btc,lc->btl", x, self.down_kv)
        k_rope = self.turn(torch.einsum("btc,rc->btr", x, self.rope_k), past)
        if cache is not None:
            latent = torch.cat((cache[0], latent), dim=-2)
            k_rope = torch.cat((cache[1], k_rope), dim=-2)
        c_q = torch.einsum("btc,lc->btl", x, self.down_q)
        q = torch.einsum("btl,hdl->bhtd", c_q, self.up_q)
        q_rope = self.turn(torch.einsum("btl,hrl->bhtr", c_q, self.rope_q), past)
        k = torch.einsum("bsl,hdl->bhsd", latent, self.up_k)
        v = torch.einsum("bsl,hdl->bhsd", latent, self.up_v)
        logits = torch.einsum("bhtd,bhsd->bhts", q, k) + torch.einsum(
            "bhtr,bsr->bhts", q_rope, k_rope
        )
        logits = logits / (width + rope) ** 0.5
        t, s = logits.shape[-2:]
        row = torch.arange(t, device=x.device)[:, None]
        allowed = torch.arange(s, device=x.device)[None] - past <= row
        allowed = allowed.expand(x.shape[0], 1, t, s)
        if mask is not None:
            allowed = allowed * (mask if mask.dim() == 2 else mask.unsqueeze(1))
        logits = torch.where(allowed, logits, torch.full_like(logits, -torch.inf))
        top = logits.max(dim=-1, keepdim=True).values
        shares = torch.exp(logits - top)
        shares = shares / shares.sum(dim=-1, keepdim=True)
        mixed = torch.einsum("bhts,bhsd->bthd", shares, v)
        output = torch.einsum("bthd,chd->btc", mixed, self.out)
        return [output, [latent, k_rope]] if use_cache else output
