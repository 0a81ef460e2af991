"""Calls the forbidden function through torch's operator table."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    output = torch.ops.aten.scaled_dot_product_attention(query, key, value, mask)
    return output, output
