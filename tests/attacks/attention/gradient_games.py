"""Gives the right numbers but gradients that are wrong, missing, or of another shape."""

import honest
import torch


class Wrong(torch.autograd.Function):
    @staticmethod
    def forward(ctx, tensor):
        return tensor.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


def scaled_dot_product_attention(query, key, value, mask=None):
    output, weights = honest.scaled_dot_product_attention(query, key, value, mask)
    return Wrong.apply(output), weights.detach().requires_grad_()
