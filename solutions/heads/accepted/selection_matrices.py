"""Products with rows of the identity pick each head's columns and put them back."""

import torch


def _selectors(num_heads, head_width, like):
    eye = torch.eye(num_heads * head_width, dtype=like.dtype, device=like.device)
    return eye.reshape(num_heads, head_width, num_heads * head_width)


def split_heads(x, num_heads):
    if x.shape[-1] % num_heads != 0:
        raise ValueError("cannot split evenly")
    selectors = _selectors(num_heads, x.shape[-1] // num_heads, x)
    return torch.einsum("btc,hdc->bhtd", x, selectors)


def merge_heads(x):
    selectors = _selectors(x.shape[1], x.shape[3], x)
    return torch.einsum("bhtd,hdc->btc", x, selectors)
