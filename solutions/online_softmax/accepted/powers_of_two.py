"""Exponentials of base 2, as kernels have them; the scale holds the change of base."""

import math

import torch

LOG2_E = 1 / math.log(2)


def online_softmax_attention(query, key, value, query_block, key_block):
    if query_block < 1 or key_block < 1:
        raise ValueError("empty block")
    dtype = query.dtype
    if dtype != torch.float64:
        query, key, value = query.float(), key.float(), value.float()
    query = query * (LOG2_E / math.sqrt(query.size(-1)))
    results = []
    for q in query.split(query_block, -2):
        top = q.new_full((*q.shape[:-1], 1), float("-inf"))
        low, mix = 0.0, 0.0
        for k, v in zip(key.split(key_block, -2), value.split(key_block, -2), strict=True):
            bits = q @ k.mT
            new = torch.maximum(top, bits.amax(-1, keepdim=True))
            power, decay = torch.exp2(bits - new), torch.exp2(top - new)
            low = low * decay + power.sum(-1, keepdim=True)
            mix = mix * decay + power @ v
            top = new
        results.append((mix / low, ((top + low.log2()) * math.log(2)).squeeze(-1)))
    outputs, logs = zip(*results, strict=True)
    return torch.cat(outputs, -2).to(dtype), torch.cat(logs, -1).to(dtype)
