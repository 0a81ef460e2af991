"""Blocked keys are never looked at: each query takes its allowed keys out first."""

import torch


def attend(query, key, value, mask):
    """One item: query (T, D), key (S, D), value (S, Dv), mask (T, S) or None."""
    outputs, weights = [], []
    for t, q in enumerate(query):
        picked = slice(None) if mask is None else mask[t].nonzero().squeeze(-1)
        share = (key[picked] @ q / q.numel() ** 0.5).softmax(dim=0)
        row = q.new_zeros(key.shape[0])
        row[picked] = share
        outputs.append(share @ value[picked])
        weights.append(row)
    return torch.stack(outputs), torch.stack(weights)


def scaled_dot_product_attention(query, key, value, mask=None):
    if mask is not None:
        mask = mask.bool().expand(*query.shape[:-1], key.shape[-2])
        if not mask.any(dim=-1).all():
            raise ValueError("no keys for a query")
    if query.dim() == 2:
        return attend(query, key, value, mask)
    masks = [None] * len(query) if mask is None else mask
    pairs = [
        scaled_dot_product_attention(*item) for item in zip(query, key, value, masks, strict=True)
    ]
    return torch.stack([o for o, _ in pairs]), torch.stack([w for _, w in pairs])
