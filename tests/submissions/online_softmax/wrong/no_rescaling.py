import math

import torch


def online_softmax_attention(query, key, value, query_block, key_block):
    if query_block < 1 or key_block < 1:
        raise ValueError("block size")
    outs, lses = [], []
    for i in range(0, query.size(-2), query_block):
        q = query[..., i : i + query_block, :]
        m = torch.full(q.shape[:-1], -math.inf, dtype=q.dtype, device=q.device)
        l = torch.zeros_like(m)
        o = q.new_zeros(*q.shape[:-1], value.size(-1))
        for j in range(0, key.size(-2), key_block):
            k, v = key[..., j : j + key_block, :], value[..., j : j + key_block, :]
            s = q @ k.transpose(-1, -2) / math.sqrt(q.size(-1))
            m_new = torch.maximum(m, s.max(dim=-1).values)
            p = torch.exp(s - m_new[..., None])
            l = l + p.sum(-1)
            o = o + p @ v
            m = m_new
        outs.append(o / l[..., None])
        lses.append(m + torch.log(l))
    return torch.cat(outs, -2), torch.cat(lses, -1)
