"""A loop over the positions of each item, and in it one over the pairs."""

import math

import torch
from torch import nn


class RotaryEmbedding(nn.Module):
    def __init__(self, base=10000.0):
        super().__init__()
        self.base = base

    def forward(self, x, offset=0, positions=None):
        batch, _, length, width = x.shape
        if width % 2 != 0:
            raise ValueError("the width has to be even")
        if positions is None:
            where = [[offset + t for t in range(length)]] * batch
        elif positions.dim() == 1:
            where = [positions.tolist()] * batch
        else:
            where = positions.tolist()
        items = []
        for item, places in zip(x, where, strict=True):
            vectors = []
            for t, place in enumerate(places):
                columns = []
                for i in range(width // 2):
                    theta = place * self.base ** (-2 * i / width)
                    a, b = item[:, t, 2 * i], item[:, t, 2 * i + 1]
                    columns.append(a * math.cos(theta) - b * math.sin(theta))
                    columns.append(a * math.sin(theta) + b * math.cos(theta))
                vectors.append(torch.stack(columns, dim=-1))
            items.append(torch.stack(vectors, dim=-2))
        return torch.stack(items)
