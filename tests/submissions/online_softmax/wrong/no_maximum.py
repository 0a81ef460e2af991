import torch


def online_softmax_attention(query, key, value, query_block, key_block):
    if query_block < 1 or key_block < 1:
        raise ValueError("block < 1")
    outputs, logs = [], []
    for i in range(0, query.shape[-2], query_block):
        q = query[..., i : i + query_block, :] / query.shape[-1] ** 0.5
        numerator, denominator = 0, 0
        for j in range(0, key.shape[-2], key_block):
            weights = torch.exp(q @ key[..., j : j + key_block, :].transpose(-2, -1))
            numerator = numerator + weights @ value[..., j : j + key_block, :]
            denominator = denominator + weights.sum(dim=-1, keepdim=True)
        outputs.append(numerator / denominator)
        logs.append(denominator.log().squeeze(-1))
    return torch.cat(outputs, dim=-2), torch.cat(logs, dim=-1)
