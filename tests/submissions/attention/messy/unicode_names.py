"""Greek names and an arrow or two in the comments."""

import torch


def σ(x):
    # x → probabilities along the last axis
    return torch.softmax(x, dim=-1)


def scaled_dot_product_attention(query, key, value, mask=None):
    """softmax(Q·Kᵀ / √d)·V"""
    β = query.shape[-1] ** -0.5
    Σ = β * query @ key.transpose(-2, -1)
    if mask is not None:
        m = mask != 0
        if not m.any(dim=-1).all():
            raise ValueError("∀ keys blocked")
        Σ = Σ.masked_fill(~m, -torch.inf)
    α = σ(Σ)
    return α @ value, α
