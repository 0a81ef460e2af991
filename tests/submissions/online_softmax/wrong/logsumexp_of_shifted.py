import torch


def online_softmax_attention(query, key, value, query_block, key_block):
    if query_block < 1 or key_block < 1:
        raise ValueError("bad block")
    all_out, all_lse = [], []
    for q in query.split(query_block, dim=-2):
        running_max = torch.full_like(q[..., :1], -float("inf"))
        running_sum = torch.zeros_like(running_max)
        acc = torch.zeros(*q.shape[:-1], value.shape[-1], dtype=q.dtype, device=q.device)
        for k, v in zip(key.split(key_block, dim=-2), value.split(key_block, dim=-2)):
            scores = (q @ k.transpose(-2, -1)) / q.shape[-1] ** 0.5
            new_max = torch.maximum(running_max, scores.max(dim=-1, keepdim=True)[0])
            scale = torch.exp(running_max - new_max)
            p = torch.exp(scores - new_max)
            running_sum = running_sum * scale + p.sum(dim=-1, keepdim=True)
            acc = acc * scale + p @ v
            running_max = new_max
        all_out.append(acc / running_sum)
        all_lse.append(running_sum.log().squeeze(-1))
    return torch.cat(all_out, dim=-2), torch.cat(all_lse, dim=-1)
