"""Forward and backward are both written by hand in an autograd Function."""

import torch


class Attend(torch.autograd.Function):
    @staticmethod
    def forward(ctx, query, key, value, blocked):
        ctx.scale = query.shape[-1] ** -0.5
        scores = query @ key.transpose(-2, -1) * ctx.scale
        if blocked is not None:
            scores = scores.masked_fill(blocked, float("-inf"))
        weights = scores.softmax(dim=-1)
        ctx.save_for_backward(query, key, value, weights)
        return weights @ value, weights

    @staticmethod
    def backward(ctx, grad_output, grad_weights):
        query, key, value, weights = ctx.saved_tensors
        grad_value = weights.transpose(-2, -1) @ grad_output
        g = grad_weights + grad_output @ value.transpose(-2, -1)
        # The Jacobian of softmax is diag(w) - w w^T.
        g = weights * (g - (weights * g).sum(dim=-1, keepdim=True)) * ctx.scale
        return g @ key, g.transpose(-2, -1) @ query, grad_value, None


def scaled_dot_product_attention(query, key, value, mask=None):
    blocked = None
    if mask is not None:
        blocked = mask == 0
        if blocked.all(dim=-1).any():
            raise ValueError("a query has every key blocked")
    return Attend.apply(query, key, value, blocked)
