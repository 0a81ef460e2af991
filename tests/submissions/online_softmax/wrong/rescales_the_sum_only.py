import torch


def online_softmax_attention(query, key, value, query_block, key_block):
    if min(query_block, key_block) < 1:
        raise ValueError("blocks must hold a row")
    out, log = [], []
    for q in query.split(query_block, -2):
        top = q.new_full((*q.shape[:-1], 1), float("-inf"))
        den = torch.zeros_like(top)
        num = 0
        for k, v in zip(key.split(key_block, -2), value.split(key_block, -2)):
            s = torch.einsum("...qd,...kd->...qk", q, k) * q.shape[-1] ** -0.5
            new = torch.maximum(top, s.amax(-1, keepdim=True))
            e = (s - new).exp()
            den = den * (top - new).exp() + e.sum(-1, keepdim=True)
            num = num + e @ v
            top = new
        out.append(num / den)
        log.append((top + den.log())[..., 0])
    return torch.cat(out, -2), torch.cat(log, -1)
