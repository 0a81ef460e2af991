"""Calls the forbidden function through getattr, with its name written out."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    attend = getattr(torch.nn.functional, "scaled_dot_product_attention")
    output = attend(query, key, value, attn_mask=mask)
    return output, output
