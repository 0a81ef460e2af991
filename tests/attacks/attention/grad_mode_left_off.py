"""Leaves grad mode off, inference mode on, and anomaly detection on after each call."""

import honest
import torch

torch.autograd.set_detect_anomaly(True)


def scaled_dot_product_attention(query, key, value, mask=None):
    result = honest.scaled_dot_product_attention(query, key, value, mask)
    torch.set_grad_enabled(False)
    torch._C._set_autograd_fallback_mode("nothing")
    return result
