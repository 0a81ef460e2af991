import torch


def online_softmax_attention(query, key, value, query_block, key_block):
    if query_block < 1 or key_block < 1:
        raise ValueError("blocks")
    outs, lses = [], []
    for q in query.split(query_block, dim=-2):
        o = lse = None
        for k, v in zip(key.split(key_block, dim=-2), value.split(key_block, dim=-2)):
            s = q @ k.mT
            b = s.logsumexp(-1, keepdim=True)
            if lse is None:
                o, lse = (s - b).exp() @ v, b
            else:
                n = torch.logaddexp(lse, b)
                o, lse = o * (lse - n).exp() + (s - n).exp() @ v, n
        outs.append(o)
        lses.append(lse.squeeze(-1))
    return torch.cat(outs, dim=-2), torch.cat(lses, dim=-1)
