"""Each block of keys gives an attention of its own; two are merged by their logsumexps."""

import torch


def online_softmax_attention(query, key, value, query_block, key_block):
    if min(query_block, key_block) < 1:
        raise ValueError("blocks have to hold something")
    outs, logs = [], []
    for i in range(0, query.shape[-2], query_block):
        q = query[..., i : i + query_block, :] * query.shape[-1] ** -0.5
        out = log = None
        for j in range(0, key.shape[-2], key_block):
            s = q @ key[..., j : j + key_block, :].mT
            block_log = s.logsumexp(-1)
            block_out = s.softmax(-1) @ value[..., j : j + key_block, :]
            if out is None:
                out, log = block_out, block_log
            else:
                both = torch.logaddexp(log, block_log)
                out = out * (log - both).exp().unsqueeze(-1) + block_out * (
                    block_log - both
                ).exp().unsqueeze(-1)
                log = both
        outs.append(out)
        logs.append(log)
    return torch.cat(outs, -2), torch.cat(logs, -1)
