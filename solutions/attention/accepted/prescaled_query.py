"""The queries are scaled before the product, and the scores are left alone."""

import torch
import torch.nn.functional as F


def scaled_dot_product_attention(query, key, value, mask=None):
    scale = torch.tensor(query.shape[-1], dtype=query.dtype, device=query.device).rsqrt()
    scores = torch.matmul(query * scale, key.transpose(-2, -1))
    if mask is not None:
        keep = mask.bool()
        if torch.any(~keep.any(dim=-1)):
            raise ValueError("no key left for a query")
        scores = scores.masked_fill(torch.logical_not(keep), float("-inf"))
    p_attn = F.softmax(scores, dim=-1)
    return torch.matmul(p_attn, value), p_attn
