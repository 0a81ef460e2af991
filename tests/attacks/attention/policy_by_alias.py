"""Calls the forbidden function under other names: import as, assignment, a private module."""

from torch._C._nn import scaled_dot_product_attention as one
from torch.nn import functional as steps

two = steps.scaled_dot_product_attention


def scaled_dot_product_attention(query, key, value, mask=None):
    output = (two if mask is None else one)(query, key, value, attn_mask=mask)
    return output, output
