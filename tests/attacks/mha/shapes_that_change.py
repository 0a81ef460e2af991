"""Gives its parameters other shapes after the first call, and frees their memory."""

import honest
import torch


class MultiHeadAttention(honest.MultiHeadAttention):
    def forward(self, query, key, value, mask=None):
        result = super().forward(query, key, value, mask)
        self.W_q.weight.data = torch.zeros(1)
        self.W_k.weight.untyped_storage().resize_(0)
        return result
