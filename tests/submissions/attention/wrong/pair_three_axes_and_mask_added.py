"""Three axes are required, and the mask is added."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    b, t, d = query.shape
    s = key.shape[1]
    scores = torch.bmm(query, key.transpose(1, 2)).view(b, t, s) / d**0.5
    if mask is not None:
        if not mask.bool().any(dim=-1).all():
            raise ValueError("no key")
        scores = scores + mask.float()
    weights = torch.softmax(scores, dim=-1)
    return torch.bmm(weights, value), weights
