import torch


def online_softmax_attention(query, key, value, query_block, key_block):
    if query_block < 1 or key_block < 1:
        raise ValueError("empty blocks")
    T, S = query.shape[-2], key.shape[-2]
    if T % query_block != 0 or S % key_block != 0:
        raise ValueError("block sizes must divide the sequence lengths")
    outputs, logs = [], []
    for i in range(T // query_block):
        q = query[..., i * query_block : (i + 1) * query_block, :]
        o, l = None, None
        for j in range(S // key_block):
            rows = slice(j * key_block, (j + 1) * key_block)
            s = q @ key[..., rows, :].mT / q.shape[-1] ** 0.5
            new_l, new_o = s.logsumexp(-1), s.softmax(-1) @ value[..., rows, :]
            if o is not None:
                both = torch.logaddexp(l, new_l)
                new_o = o * (l - both).exp()[..., None] + new_o * (new_l - both).exp()[..., None]
                new_l = both
            o, l = new_o, new_l
        outputs.append(o)
        logs.append(l)
    return torch.cat(outputs, -2), torch.cat(logs, -1)
