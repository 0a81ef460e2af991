"""The running output is kept normalised: each block is blended in with its share."""

import torch


def online_softmax_attention(query, key, value, query_block, key_block):
    for size in (query_block, key_block):
        if size < 1:
            raise ValueError(f"a block of {size}")
    done = []
    for rows in query.split(query_block, dim=-2):
        running = torch.full_like(rows[..., :1], -torch.inf)
        output = rows.new_zeros(rows.shape[:-1] + value.shape[-1:])
        for start in range(0, key.shape[-2], key_block):
            part = slice(start, start + key_block)
            scores = rows.matmul(key[..., part, :].transpose(-1, -2)) / rows.shape[-1] ** 0.5
            total = torch.logaddexp(running, scores.logsumexp(-1, keepdim=True))
            output = output * (running - total).exp() + (scores - total).exp() @ value[..., part, :]
            running = total
        done.append((output, running[..., 0]))
    return torch.cat([o for o, _ in done], dim=-2), torch.cat([r for _, r in done], dim=-1)
