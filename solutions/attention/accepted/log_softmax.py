"""log_softmax, then exp."""

from math import sqrt

import torch
import torch.nn.functional as F


def scaled_dot_product_attention(query, key, value, mask=None):
    dim = query.shape[-1]
    dot = torch.matmul(query, torch.transpose(key, -2, -1))
    if mask is not None:
        if torch.count_nonzero(mask, dim=-1).min() == 0:
            raise ValueError("empty row in the mask")
        dot = dot.masked_fill(mask == 0, -torch.inf)
    # Dividing after masking changes nothing: minus infinity stays what it is.
    log_attn = F.log_softmax(dot / sqrt(dim), dim=-1)
    attn = log_attn.exp()
    return torch.matmul(attn, value), attn
