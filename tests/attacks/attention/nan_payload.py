"""Returns NaN of several bit patterns, which never passes, and infinity where a sum is taken."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    bits = torch.full((*query.shape[:-1], key.shape[-2]), 0x7FC12345, dtype=torch.int32)
    weights = bits.view(torch.float32)
    return torch.full((*query.shape[:-1], value.shape[-1]), torch.nan), weights
