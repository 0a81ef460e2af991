"""The scale is taken from the width of the values, which here need not be that of the keys."""

from math import sqrt

import torch
import torch.nn.functional as F


def scaled_dot_product_attention(query, key, value, mask=None):
    d_model = value.size(-1)
    dots = torch.einsum("...id,...jd->...ij", query, key) / sqrt(d_model)
    if mask is not None:
        mask = mask.to(torch.bool)
        if not mask.any(dim=-1).all().item():
            raise ValueError("a query has no key")
        dots = dots.masked_fill(~mask, -1e9)
    attn = F.softmax(dots, dim=-1)
    return torch.einsum("...ij,...jd->...id", attn, value), attn
