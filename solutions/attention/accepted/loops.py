"""Plain Python loops over the batch and over the queries, one row of weights at a time."""

import math

import torch


def one_query(q, keys, values, permitted):
    """q (D,), keys (S, D), values (S, Dv), permitted (S,) or None."""
    row = keys @ q / math.sqrt(len(q))
    if permitted is not None:
        row = row.masked_fill(permitted.logical_not(), float("-inf"))
    row = torch.softmax(row, dim=0)
    return row @ values, row


def scaled_dot_product_attention(query, key, value, mask=None):
    lead = query.shape[:-2]
    T, S = query.size(-2), key.size(-2)
    n = lead.numel()  # 1 when there are no leading axes at all

    if mask is not None:
        mask = (mask != 0).expand(*lead, T, S).reshape(n, T, S)
        if not bool(mask.any(dim=2).all()):
            raise ValueError("a query needs at least one key that it may attend to")

    q = query.reshape(n, T, -1)
    k = key.reshape(n, S, -1)
    v = value.reshape(n, S, -1)

    outputs, rows = [], []
    for b in range(n):
        for t in range(T):
            permitted = None if mask is None else mask[b, t]
            output, row = one_query(q[b, t], k[b], v[b], permitted)
            outputs.append(output)
            rows.append(row)

    return torch.stack(outputs).reshape(*lead, T, -1), torch.stack(rows).reshape(*lead, T, S)
