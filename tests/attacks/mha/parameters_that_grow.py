"""A module whose parameters are others each time they are looked at."""

import honest
import torch


class MultiHeadAttention(honest.MultiHeadAttention):
    looks = 0

    def named_parameters(self, *given, **named):
        self.looks += 1
        yield from super().named_parameters(*given, **named)
        for number in range(self.looks):
            yield f"grown.{number}", torch.nn.Parameter(torch.zeros(self.looks))
