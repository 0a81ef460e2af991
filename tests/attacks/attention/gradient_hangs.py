"""Gives the right numbers, and never comes back from the backward pass."""

import honest
import torch


class Endless(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor):
        return tensor.clone()

    @staticmethod
    def backward(ctx, gradient):
        while True:
            pass


def scaled_dot_product_attention(query, key, value, mask=None):
    output, weights = honest.scaled_dot_product_attention(query, key, value, mask)
    return Endless.apply(output), Endless.apply(weights)
