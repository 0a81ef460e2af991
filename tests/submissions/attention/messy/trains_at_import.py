"""A demonstration that trains for twenty seconds, with nothing to guard it."""

import time

import torch
from torch import nn


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        allowed = mask.bool()
        if not allowed.any(dim=-1).all():
            raise ValueError("a query has no allowed key")
        scores = scores.masked_fill(~allowed, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


proj = nn.Linear(4, 4)
optimiser = torch.optim.SGD(proj.parameters(), lr=0.1)
x = torch.randn(8, 5, 4)

for epoch in range(100):
    out, _ = scaled_dot_product_attention(proj(x), proj(x), x)
    loss = (out - x).pow(2).mean()
    optimiser.zero_grad()
    loss.backward()
    optimiser.step()
    time.sleep(0.2)  # be kind to the laptop's fan
    print(f"epoch {epoch:3d}  loss {loss.item():.4f}")
