"""A module whose parameters are called like attributes of a module, paths and nothing at all."""

import honest
import torch


class MultiHeadAttention(honest.MultiHeadAttention):
    def named_parameters(self, *given, **named):
        yield from super().named_parameters(*given, **named)
        for name in (
            "forward",
            "training",
            "_transport",
            "remote_id",
            "..",
            "",
            "W_q",
            "W_q.weight.data",
            "__class__",
        ):
            yield name, torch.nn.Parameter(torch.ones(3))
