"""Constructing it gives another class each time: a function, an int, a module that lies."""

import torch

COUNT = 0


class MultiHeadAttention(torch.nn.Module):
    def __new__(cls, *given, **named):
        global COUNT
        COUNT += 1
        return [torch.nn.Identity(), 7, print, torch.nn.Linear, None][COUNT % 5]
