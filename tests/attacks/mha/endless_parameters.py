"""A module that never stops naming parameters."""

import honest
import torch


class MultiHeadAttention(honest.MultiHeadAttention):
    def named_parameters(self, *given, **named):
        number = 0
        while True:
            number += 1
            yield f"W_{number}", torch.nn.Parameter(torch.zeros(1))
