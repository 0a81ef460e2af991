"""Keys arrive three at a time and a running maximum and sum are kept, as in flash attention."""

import torch

BLOCK = 3


def scaled_dot_product_attention(query, key, value, mask=None):
    scale = query.shape[-1] ** -0.5
    T, S = query.shape[-2], key.shape[-2]
    lowest = torch.finfo(query.dtype).min

    if mask is not None:
        mask = mask.bool().expand(*query.shape[:-1], S)
        if not mask.any(dim=-1).all():
            raise ValueError("some query has nothing to attend to")

    peak = query.new_full((*query.shape[:-2], T, 1), lowest)
    total = torch.zeros_like(peak)
    acc = 0.0
    blocks = []
    for start in range(0, S, BLOCK):
        here = slice(start, start + BLOCK)
        scores = query @ key[..., here, :].transpose(-2, -1) * scale
        if mask is not None:
            scores = scores.masked_fill(~mask[..., here], lowest)
        blocks.append(scores)

        new_peak = torch.maximum(peak, scores.detach().amax(dim=-1, keepdim=True))
        shrink = (peak - new_peak).exp()
        e = (scores - new_peak).exp()
        total = total * shrink + e.sum(dim=-1, keepdim=True)
        acc = acc * shrink + e @ value[..., here, :]
        peak = new_peak

    weights = (torch.cat(blocks, dim=-1) - peak).exp() / total
    return acc / total, weights
