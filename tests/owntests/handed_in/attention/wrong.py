"""Believes that True in a mask means blocked."""

import torch
from attention import scaled_dot_product_attention


def test_rows_sum_to_one():
    x = torch.randn(4, 4)
    _, weights = scaled_dot_product_attention(x, x, x)
    torch.testing.assert_close(weights.sum(-1), torch.ones(4))


def test_true_blocks():
    x = torch.randn(3, 4)
    _, weights = scaled_dot_product_attention(x, x, x, mask=torch.eye(3).bool())
    assert weights[1, 1] == 0, "True means that the key is blocked"
