"""Imports a module that is not there."""

import torch
from my_transformer_utils import masked_softmax


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    weights = masked_softmax(scores, mask)
    return weights @ value, weights
