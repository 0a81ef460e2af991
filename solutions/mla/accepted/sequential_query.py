"""The query path is one Sequential; a named tuple carries the result."""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn


class Result(NamedTuple):
    output: Tensor
    c_kv: Tensor


def attend(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, drop: nn.Module) -> Tensor:
    scale = math.sqrt(math.sqrt(q.shape[-1]))
    scores = (q / scale) @ (k / scale).transpose(-2, -1)
    if mask is not None:
        scores.masked_fill_(~mask, float("-inf"))
    return drop(torch.softmax(scores.float(), dim=-1).to(v.dtype)) @ v


class MultiHeadLatentAttention(nn.Module):
    def __init__(
        self, embed_dim=0, num_heads=1, q_latent_dim=0, kv_latent_dim=0, dropout=0.0, **unused
    ):
        super().__init__()
        head_dim, rest = divmod(embed_dim, num_heads)
        assert rest == 0
        self.shape = (num_heads, head_dim)
        self.query = nn.Sequential(
            nn.Linear(embed_dim, q_latent_dim), nn.Linear(q_latent_dim, embed_dim)
        )
        self.W_DKV = nn.Linear(embed_dim, kv_latent_dim)
        self.W_UK = nn.Linear(kv_latent_dim, embed_dim)
        self.W_UV = nn.Linear(kv_latent_dim, embed_dim)
        self.W_o = nn.Linear(embed_dim, embed_dim)
        self.drop = nn.Dropout(dropout) if dropout else nn.Identity()

    def load_weights(self, weights):
        renamed = {"W_DQ": "query.0", "W_UQ": "query.1"}
        state = {}
        for name, tensor in weights.items():
            layer, end = name.split(".")
            state[f"{renamed.get(layer, layer)}.{end}"] = tensor
        self.load_state_dict(state)

    def forward(self, x, mask=None):
        latent = self.W_DKV(x)
        if mask is not None and mask.dim() == 3:
            mask = mask.unsqueeze(dim=1)
        q, k, v = (
            z.reshape(*x.shape[:2], *self.shape).transpose(1, 2)
            for z in (self.query(x), self.W_UK(latent), self.W_UV(latent))
        )
        y = attend(q, k, v, mask, self.drop)
        return Result(self.W_o(y.transpose(1, 2).reshape(x.shape)), latent)
