import torch


def online_softmax_attention(query, key, value, query_block, key_block):
    if query_block < 1 or key_block < 1:
        raise ValueError("block sizes start at 1")
    outputs, logs = [], []
    for q in torch.split(query, query_block, dim=-2):
        s = q @ key.transpose(-2, -1) * query.shape[-1] ** -0.5
        logs.append(torch.logsumexp(s, dim=-1))
        outputs.append(torch.softmax(s, dim=-1) @ value)
    return torch.cat(outputs, dim=-2), torch.cat(logs, dim=-1)
