"""The inputs are fetched to the CPU first, wherever they were."""

import torch

device = torch.device("cpu")


def scaled_dot_product_attention(query, key, value, mask=None):
    query = query.to(device)
    key = key.to(device)
    value = value.to(device)
    scores = torch.matmul(query, key.transpose(-2, -1)) / query.shape[-1] ** 0.5
    if mask is not None:
        mask = mask.to(device).bool()
        if not mask.any(dim=-1).all():
            raise ValueError("no key")
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights
