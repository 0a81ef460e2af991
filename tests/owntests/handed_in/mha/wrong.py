"""Takes for granted how the layers are kept, which the handout leaves open."""

import torch
from mha import MultiHeadAttention


def test_projections():
    module = MultiHeadAttention(embed_dim=8, num_heads=2)
    x = torch.randn(1, 3, 8)
    torch.nn.init.zeros_(module.W_o.weight)
    torch.nn.init.zeros_(module.W_o.bias)
    assert module(x, x, x)[0].abs().max() == 0
