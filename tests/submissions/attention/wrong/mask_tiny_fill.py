"""-1e-9 was typed for -1e9."""

import torch
import torch.nn.functional as F


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / query.size(-1) ** 0.5
    if mask is not None:
        if not mask.bool().any(-1).all():
            raise ValueError("at least one key must be visible")
        scores = scores.masked_fill(mask == 0, -1e-9)
    p_attn = F.softmax(scores, dim=-1)
    return torch.matmul(p_attn, value), p_attn
