"""Looks at shapes, on sizes that are all alike."""

import torch
from mha import MultiHeadAttention


def test_shapes():
    module = MultiHeadAttention(embed_dim=8, num_heads=2)
    x = torch.randn(2, 2, 8)
    output, weights = module(x, x, x)
    assert output.shape == x.shape
    assert weights.shape == (2, 2, 2, 2)


def test_rows_sum_to_one():
    module = MultiHeadAttention(embed_dim=8, num_heads=2)
    x = torch.randn(2, 2, 8)
    _, weights = module(x, x, x)
    torch.testing.assert_close(weights.sum(-1), torch.ones(2, 2, 2))
