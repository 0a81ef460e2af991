"""The scale is a float32 tensor of one element, which lifts bfloat16 and then cannot be mixed."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scale = torch.tensor([query.shape[-1]], dtype=torch.float32, device=query.device).sqrt()
    scores = query @ key.transpose(-2, -1) / scale
    if mask is not None:
        if not mask.bool().any(dim=-1).all():
            raise ValueError("no key")
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights
