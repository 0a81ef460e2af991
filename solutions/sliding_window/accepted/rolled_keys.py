"""One score for each place of the window: keys are shifted by 0 to W - 1 places."""

import torch


def shifted(x, places):
    """x moved down by that many rows, zeros on top."""
    return torch.cat([x.new_zeros(x[..., :places, :].shape), x[..., : x.shape[-2] - places, :]], -2)


def sliding_window_attention(query, key, value, window):
    if window < 1:
        raise ValueError("no window")
    length = query.shape[-2]
    reach = min(window, length)
    rows = torch.arange(length, device=query.device)
    scores = []
    for back in range(reach):
        score = (query * shifted(key, back)).sum(-1) / query.shape[-1] ** 0.5
        scores.append(score.masked_fill(rows < back, float("-inf")))
    shares = torch.stack(scores, dim=-1).softmax(dim=-1)
    output = sum(shares[..., back, None] * shifted(value, back) for back in range(reach))
    weights = sum(torch.diag_embed(shares[..., back:, back], offset=-back) for back in range(reach))
    return output, weights
