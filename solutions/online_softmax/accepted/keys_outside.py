"""The loop over keys is the outer one, as in the first FlashAttention; states wait in lists."""

import torch


def online_softmax_attention(query, key, value, query_block, key_block):
    if query_block < 1:
        raise ValueError("query_block")
    if key_block < 1:
        raise ValueError("key_block")
    blocks = torch.split(query, query_block, dim=-2)
    states = [None] * len(blocks)
    keys, values = torch.split(key, key_block, dim=-2), torch.split(value, key_block, dim=-2)
    for k, v in zip(keys, values, strict=True):
        for n, q in enumerate(blocks):
            s = torch.einsum("...td,...sd->...ts", q, k) / q.shape[-1] ** 0.5
            m = s.amax(-1, keepdim=True)
            if states[n] is not None:
                m = torch.maximum(m, states[n][0])
            p = torch.exp(s - m)
            total, mix = p.sum(-1, keepdim=True), torch.einsum("...ts,...sd->...td", p, v)
            if states[n] is not None:
                old, old_total, old_mix = states[n]
                c = torch.exp(old - m)
                total, mix = total + c * old_total, mix + c * old_mix
            states[n] = (m, total, mix)
    output = torch.cat([mix / total for _, total, mix in states], dim=-2)
    return output, torch.cat([(m + total.log()).squeeze(-1) for m, total, _ in states], dim=-1)
