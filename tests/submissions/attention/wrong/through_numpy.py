"""Everything is worked out in numpy, which knows neither gradients nor bfloat16."""

import numpy as np
import torch


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def scaled_dot_product_attention(query, key, value, mask=None):
    q, k, v = (x.detach().numpy() for x in (query, key, value))
    scores = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        allowed = mask.numpy() != 0
        if not allowed.any(axis=-1).all():
            raise ValueError("no key")
        scores = np.where(allowed, scores, -np.inf)
    weights = softmax(scores).astype(q.dtype)
    return torch.from_numpy(weights @ v), torch.from_numpy(weights)
