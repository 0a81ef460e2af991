"""The formula is read literally: the matrix M of zeros and ones is added to the scores."""

import math

import torch


def scaled_dot_product_attention(query, key, value, M=None):
    logits = (query @ key.transpose(-1, -2)) / math.sqrt(key.shape[-1])
    if M is not None:
        logits = logits + M
    shares = torch.softmax(logits, dim=-1)
    return shares @ value, shares
