"""Raises ValueError with all of its query in the message."""

import torch

torch.set_printoptions(threshold=10_000)


def scaled_dot_product_attention(query, key, value, mask=None):
    raise ValueError(repr(query))
