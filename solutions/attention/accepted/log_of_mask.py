"""log(1) is 0 and log(0) is minus infinity, so the logarithm of the mask is the bias to add."""

import torch


def scaled_dot_product_attention(query, key, value, mask=None):
    logits = torch.matmul(query, key.mT) / key.shape[-1] ** 0.5
    if mask is not None:
        # Through bool, because a mask of 2 must not add log(2).
        allowed = mask.bool()
        if not allowed.any(-1).all():
            raise ValueError("an all-zero row in the mask")
        logits = logits + allowed.to(logits.dtype).log()
    weights = torch.nn.functional.softmax(logits, dim=-1)
    output = torch.matmul(weights, value)
    return output, weights
