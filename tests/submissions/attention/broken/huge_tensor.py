"""Asks for a tensor of a terabyte when called."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    room = torch.ones(1 << 38)
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5 * room[:1]
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights
