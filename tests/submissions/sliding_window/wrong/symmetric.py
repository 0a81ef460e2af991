import torch
import torch.nn.functional as F


def band(n, w, device):
    i = torch.arange(n, device=device)
    return (i[:, None] - i[None, :]).abs() <= w - 1


def sliding_window_attention(query, key, value, window):
    if window < 1:
        raise ValueError("window")
    n, d = query.shape[-2:]
    logits = torch.einsum("...qd,...kd->...qk", query, key) * d**-0.5
    logits = torch.where(band(n, window, query.device), logits, -torch.inf)
    probs = F.softmax(logits, dim=-1)
    return torch.einsum("...qk,...kd->...qd", probs, value), probs
