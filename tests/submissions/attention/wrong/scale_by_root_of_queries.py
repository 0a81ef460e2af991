"""The scale is the root of the number of queries."""

import torch


def scaled_dot_product_attention(Q, K, V, mask=None):
    n = Q.shape[-2]
    A = Q @ K.transpose(-2, -1) / n**0.5
    if mask is not None:
        if not (mask != 0).any(-1).all():
            raise ValueError("fully masked row")
        A = A.masked_fill(mask == 0, -1e9)
    A = torch.softmax(A, -1)
    return A @ V, A
