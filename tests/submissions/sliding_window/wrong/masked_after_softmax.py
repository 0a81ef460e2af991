import torch


def sliding_window_attention(query, key, value, window):
    if window <= 0:
        raise ValueError("bad window")
    t = query.shape[-2]
    idx = torch.arange(t, device=query.device)
    rel = idx.view(-1, 1) - idx.view(1, -1)
    keep = torch.logical_and(rel >= 0, rel < window).to(query.dtype)
    attn = torch.softmax(query @ key.mT / query.shape[-1] ** 0.5, dim=-1)
    attn = attn * keep
    return attn @ value, attn
