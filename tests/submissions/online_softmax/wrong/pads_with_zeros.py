import torch
import torch.nn.functional as F


def online_softmax_attention(query, key, value, query_block, key_block):
    if query_block < 1 or key_block < 1:
        raise ValueError("blocks")
    s = key.shape[-2]
    extra = -s % key_block
    key, value = F.pad(key, (0, 0, 0, extra)), F.pad(value, (0, 0, 0, extra))
    outs, lses = [], []
    for q in query.split(query_block, dim=-2):
        m = q.new_full((*q.shape[:-1], 1), -torch.inf)
        l, o = torch.zeros_like(m), 0.0
        for j in range(0, s + extra, key_block):
            x = q @ key[..., j : j + key_block, :].mT / q.shape[-1] ** 0.5
            n = torch.maximum(m, x.amax(-1, keepdim=True))
            p, c = (x - n).exp(), (m - n).exp()
            l, o, m = l * c + p.sum(-1, keepdim=True), o * c + p @ value[..., j : j + key_block, :], n
        outs.append(o / l)
        lses.append((m + l.log()).squeeze(-1))
    return torch.cat(outs, dim=-2), torch.cat(lses, dim=-1)
