"""Never comes back once there is a mask."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        t = 0
        while t < mask.shape[-1]:
            if mask.bool().any():
                continue
            t += 1
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights
