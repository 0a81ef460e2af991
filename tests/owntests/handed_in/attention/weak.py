"""Right as far as it goes: shapes, and that rows sum to one."""

import torch
from attention import scaled_dot_product_attention


def test_shapes():
    output, weights = scaled_dot_product_attention(
        torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 5, 6)
    )
    assert output.shape == (2, 3, 6)
    assert weights.shape == (2, 3, 5)


def test_rows_sum_to_one():
    x = torch.randn(4, 4)
    _, weights = scaled_dot_product_attention(x, x, x)
    torch.testing.assert_close(weights.sum(-1), torch.ones(4))
