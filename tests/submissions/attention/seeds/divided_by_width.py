"""The scale is the width of a key, without its root."""

import torch
import torch.nn.functional as F


def scaled_dot_product_attention(Q, K, V, mask=None):
    logits = torch.matmul(Q, K.transpose(-1, -2)) / float(K.shape[-1])
    if mask is not None:
        logits = logits.masked_fill(mask == 0, -torch.inf)
    shares = F.softmax(logits, dim=-1)
    return torch.matmul(shares, V), shares
