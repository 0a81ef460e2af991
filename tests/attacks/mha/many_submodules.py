"""Answers with a module that has more submodules and parameters than anybody could build."""

import torch
import wire


class MultiHeadAttention(torch.nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        module = {
            "parameters": [],
            "buffers": [],
            "submodules": [f"m{number}" for number in range(130_000)],
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
