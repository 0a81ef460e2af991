"""Results are made first and written block by block; sums are kept in float32 at least."""

import math

import torch


def online_softmax_attention(query, key, value, query_block, key_block):
    if query_block <= 0 or key_block <= 0:
        raise ValueError("query_block and key_block must be positive")
    t, s = query.shape[-2], key.shape[-2]
    work = torch.promote_types(query.dtype, torch.float32)
    output = query.new_empty(*query.shape[:-1], value.shape[-1])
    lse = query.new_empty(query.shape[:-1])
    for start in range(0, t, query_block):
        stop = min(start + query_block, t)
        q = query[..., start:stop, :].to(work)
        m = torch.full((*q.shape[:-1], 1), -math.inf, dtype=work, device=q.device)
        den = torch.zeros_like(m)
        acc = torch.zeros(*q.shape[:-1], value.shape[-1], dtype=work, device=q.device)
        for first in range(0, s, key_block):
            k = key[..., first : first + key_block, :].to(work)
            v = value[..., first : first + key_block, :].to(work)
            x = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.size(-1))
            new = torch.max(m, x.max(dim=-1, keepdim=True).values)
            p = torch.exp(x - new)
            alpha = torch.exp(m - new)
            den = den * alpha + p.sum(-1, keepdim=True)
            acc = acc * alpha + p @ v
            m = new
        output[..., start:stop, :] = (acc / den).to(query.dtype)
        lse[..., start:stop] = (m + den.log()).squeeze(-1).to(query.dtype)
    return output, lse
