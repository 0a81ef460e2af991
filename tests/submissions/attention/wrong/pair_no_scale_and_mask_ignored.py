"""No scale, and the result of masked_fill is thrown away."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    similarity = torch.matmul(query, key.transpose(-2, -1))
    if mask is not None:
        if not mask.bool().any(-1).all():
            raise ValueError("no key")
        similarity.masked_fill(mask == 0, float("-inf"))
    share = torch.softmax(similarity, dim=-1)
    return torch.matmul(share, value), share
