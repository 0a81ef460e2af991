"""Blocked scores become the most negative finite number, in place, instead of minus infinity."""

import torch
from torch import Tensor


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    d_k = query.size(-1)
    attn = torch.matmul(query, key.transpose(-1, -2))
    attn = attn / d_k**0.5

    if mask is not None:
        # With a finite fill such a row would come out uniform, so it has to be refused here.
        if (mask != 0).sum(dim=-1).eq(0).any():
            raise ValueError("mask blocks every key of at least one query")
        attn.masked_fill_(mask == 0, torch.finfo(attn.dtype).min)

    attn = torch.nn.functional.softmax(attn, dim=-1)
    return torch.matmul(attn, value), attn
