"""The scale is the number 8.0, which was once the width of a key."""

import torch
import torch.nn.functional as F


def scaled_dot_product_attention(Q, K, V, mask=None):
    logits = torch.matmul(Q, K.transpose(-1, -2)) / 8.0
    if mask is not None:
        logits = logits.masked_fill(mask == 0, -torch.inf)
    shares = F.softmax(logits, dim=-1)
    return torch.matmul(shares, V), shares
