"""PyTorch's own attention is imported under another name."""

import torch
from torch.nn.functional import scaled_dot_product_attention as fused


def scaled_dot_product_attention(query, key, value, mask=None):
    allowed = None
    if mask is not None:
        allowed = (mask != 0).expand(*query.shape[:-1], key.shape[-2])
        if not allowed.any(dim=-1).all():
            raise ValueError("no key")
    # Values of an identity matrix give the weights themselves.
    eye = torch.eye(key.shape[-2], dtype=value.dtype, device=value.device)
    weights = fused(query, key, eye.expand(*key.shape[:-1], -1), attn_mask=allowed)
    return weights @ value, weights
