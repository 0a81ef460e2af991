"""Tests below a main guard, which must not run."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        allowed = mask.bool()
        if not allowed.any(dim=-1).all():
            raise ValueError("a query has no allowed key")
        scores = scores.masked_fill(~allowed, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


def test_shapes():
    out, w = scaled_dot_product_attention(torch.ones(2, 3), torch.ones(4, 3), torch.ones(4, 5))
    assert out.shape == (2, 5)
    assert w.shape == (2, 4)


if __name__ == "__main__":
    test_shapes()
    input("press enter to train ")
    while True:
        test_shapes()
