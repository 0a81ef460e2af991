"""One softmax over queries and keys together: the whole matrix sums to 1, not each row."""

import math

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))

    if mask is not None:
        ok = mask.bool()
        if not ok.any(dim=-1).all():
            raise ValueError("a row of the mask is empty")
        scores = scores.masked_fill(~ok, float("-inf"))

    shape = scores.shape
    weights = torch.softmax(scores.flatten(-2), dim=-1).reshape(shape)
    return torch.matmul(weights, value), weights
