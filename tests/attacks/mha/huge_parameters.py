"""Answers with a module of ten thousand parameters, each of them said to hold 32 MiB."""

import torch
import wire


class MultiHeadAttention(torch.nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        described = {"shape": [8 << 20], "dtype": "float32"}
        module = {
            "parameters": [{"name": f"p{number}", **described} for number in range(10_000)],
            "buffers": [],
            "submodules": [],
        }
        wire.send(
            {
                "is": "Returned",
                "value": {"is": "Handle", "id": 1, "type": "M"},
                "call": 1,
                "module": module,
            }
        )
        wire.end()
