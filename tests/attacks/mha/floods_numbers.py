"""Answers each call with 60 million bytes, which would be half a gigabyte to compare."""

import torch
import wire

BYTES = 60_000_000


class MultiHeadAttention(torch.nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        wire.send(
            {
                "is": "Returned",
                "value": {"is": "TensorRef", "index": 0},
                "call": 1,
                "tensors": [["uint8", [BYTES], BYTES]],
            },
            bytes(BYTES),
        )
        wire.end()
