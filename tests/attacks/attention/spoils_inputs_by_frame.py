"""Says that it has written zeros into its inputs, and computes nothing."""

import torch
import wire


def scaled_dot_product_attention(query, key, value, mask=None):
    output = torch.zeros(*query.shape[:-1], value.shape[-1])
    weights = torch.zeros(*query.shape[:-1], key.shape[-2])
    wire.send_pair(output, weights, changed={0: query * 0, 1: key * 0, 2: value * 0})
    wire.end()
