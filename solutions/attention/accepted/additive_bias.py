"""The mask is first turned into a float bias of 0 and -inf, which is then added to the scores."""

import math

import torch


def mask_to_bias(mask: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    allowed = mask != 0
    if not allowed.any(dim=-1).all():
        raise ValueError("every query must be allowed at least one key")
    bias = torch.zeros(mask.shape, dtype=dtype, device=mask.device)
    return bias.masked_fill(~allowed, -math.inf)


def scaled_dot_product_attention(query, key, value, mask=None):
    logits = (query @ key.mT) * (1.0 / math.sqrt(query.shape[-1]))
    if mask is not None:
        logits = logits + mask_to_bias(mask, logits.dtype)
    weights = torch.softmax(logits, dim=-1)
    return weights @ value, weights
