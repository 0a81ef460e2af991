"""The vectors come back as they came, only the width is looked at."""

from torch import nn


class RotaryEmbedding(nn.Module):
    def __init__(self, base=10000.0):
        super().__init__()

    def forward(self, x, offset=0, positions=None):
        if x.shape[-1] % 2:
            raise ValueError("odd")
        return x.clone()
