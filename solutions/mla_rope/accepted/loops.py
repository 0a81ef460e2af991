"""One head after the other, and one query after the other, over lists."""

import math

import torch
from torch import nn


def turned(vector, position):
    """One vector (B, R) at one position."""
    columns = []
    width = vector.shape[-1]
    for pair in range(width // 2):
        angle = position * 10000 ** (-2 * pair / width)
        a, b = vector[:, 2 * pair], vector[:, 2 * pair + 1]
        columns += [a * math.cos(angle) - b * math.sin(angle)]
        columns += [a * math.sin(angle) + b * math.cos(angle)]
    return torch.stack(columns, dim=-1)


class RotaryMultiHeadLatentAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, head_dim, rope_dim, q_latent_dim, kv_latent_dim):
        super().__init__()
        if rope_dim % 2 != 0:
            raise ValueError("rope_dim: even numbers only")
        self.H, self.D, self.R = num_heads, head_dim, rope_dim
        self.W_DQ = nn.Linear(embed_dim, q_latent_dim, bias=False)
        self.W_UQ = nn.Linear(q_latent_dim, num_heads * head_dim, bias=False)
        self.W_QR = nn.Linear(q_latent_dim, num_heads * rope_dim, bias=False)
        self.W_DKV = nn.Linear(embed_dim, kv_latent_dim, bias=False)
        self.W_UK = nn.Linear(kv_latent_dim, num_heads * head_dim, bias=False)
        self.W_UV = nn.Linear(kv_latent_dim, num_heads * head_dim, bias=False)
        self.W_KR = nn.Linear(embed_dim, rope_dim, bias=False)
        self.W_o = nn.Linear(num_heads * head_dim, embed_dim, bias=False)

    def forward(self, x, mask=None, cache=None, use_cache=False):
        past = cache[0].shape[1] if cache is not None else 0
        T = x.shape[1]
        latents = [] if cache is None else list(cache[0].unbind(1))
        rotary = [] if cache is None else list(cache[1].unbind(1))
        for t in range(T):
            latents.append(self.W_DKV(x[:, t]))
            rotary.append(turned(self.W_KR(x[:, t]), past + t))
        keys = [self.W_UK(c) for c in latents]
        values = [self.W_UV(c) for c in latents]
        outputs = []
        for t in range(T):
            c_q = self.W_DQ(x[:, t])
            contents, rotaries = self.W_UQ(c_q), self.W_QR(c_q)
            heads = []
            for h in range(self.H):
                mine = slice(h * self.D, (h + 1) * self.D)
                content = contents[:, mine]
                rope = turned(rotaries[:, h * self.R : (h + 1) * self.R], past + t)
                scores = []
                for s in range(past + t + 1):
                    score = (content * keys[s][:, mine]).sum(-1) + (rope * rotary[s]).sum(-1)
                    score = score / math.sqrt(self.D + self.R)
                    if mask is not None:
                        score = torch.where(mask[..., t, s], score, -math.inf)
                    scores.append(score)
                weights = torch.softmax(torch.stack(scores, dim=-1), dim=-1)
                seen = torch.stack([values[s][:, mine] for s in range(past + t + 1)], dim=1)
                heads.append((weights.unsqueeze(-1) * seen).sum(1))
            outputs.append(self.W_o(torch.cat(heads, dim=-1)))
        output = torch.stack(outputs, dim=1)
        if use_cache:
            return output, (torch.stack(latents, dim=1), torch.stack(rotary, dim=1))
        return output
