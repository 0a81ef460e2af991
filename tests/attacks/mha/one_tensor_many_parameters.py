"""Answers with a module of ten thousand parameters, all of them one tensor of 32 MiB."""

import torch
import wire


class MultiHeadAttention(torch.nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        module = {
            "parameters": [{"name": f"p{number}", "tensor": 0} for number in range(10_000)],
            "buffers": [],
            "submodules": [],
        }
        tensor = ["float32", [8 << 20], 32 << 20]
        wire.send(
            {
                "is": "Returned",
                "value": {"is": "Handle", "id": 1, "type": "M"},
                "call": 1,
                "module": module,
                "tensors": [tensor],
            },
            bytes(32 << 20),
        )
        wire.end()
