"""Fails the checks in an ordinary way; evidence and diagnosis get what they may choke on."""

import torch

SIZES = {(4, 5), (6, 5), (5, 3), (7, 3), (5, 6), (7, 5)}
COUNT = 0


def odd(query):
    global COUNT
    COUNT += 1
    return [
        None, "text", 3, {}, [], {"weights": query}, (query,), (query, query, query),
        (query.to_sparse(), query), (query.bool(), query > 0), (torch.empty(0), torch.empty(0)),
        (torch.full((3,), torch.nan), query), (torch.ones(1) * 1j, query), (object(), object()),
        (torch.zeros(2, 2, 2, 2, 2, 2, 2, 2), query), (query.long(), query.half()),
    ][COUNT % 16]  # fmt: skip


def scaled_dot_product_attention(query, key, value, mask=None):
    if query.is_meta or tuple(query.shape[-2:]) in SIZES or query.shape[-1] < 4:
        return odd(query)
    return query @ key.transpose(-2, -1) @ value, query @ key.transpose(-2, -1)
