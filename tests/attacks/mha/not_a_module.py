"""A class that is no module but says that it is one."""

import torch


class MultiHeadAttention:
    __class__ = torch.nn.Module
    training = True

    def __init__(self, **options):
        pass

    def __call__(self, query, key, value, mask=None):
        return query, key

    def __getattr__(self, name):
        return lambda *given, **named: self
