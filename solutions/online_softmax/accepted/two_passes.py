"""A first pass over the keys for the logsumexp, and a second one for the output."""

import torch


def scores_of(q, k):
    return q @ k.transpose(-2, -1) * q.shape[-1] ** -0.5


def online_softmax_attention(query, key, value, query_block, key_block):
    if query_block < 1 or key_block < 1:
        raise ValueError("blocks of 1 or more, please")
    outputs, logsumexps = [], []
    for q in query.split(query_block, dim=-2):
        lse = None
        for k in key.split(key_block, dim=-2):
            block = torch.logsumexp(scores_of(q, k), dim=-1)
            lse = block if lse is None else torch.logaddexp(lse, block)
        output = 0
        for k, v in zip(key.split(key_block, dim=-2), value.split(key_block, dim=-2), strict=False):
            output = output + torch.exp(scores_of(q, k) - lse.unsqueeze(-1)) @ v
        outputs.append(output)
        logsumexps.append(lse)
    return torch.cat(outputs, dim=-2), torch.cat(logsumexps, dim=-1)
