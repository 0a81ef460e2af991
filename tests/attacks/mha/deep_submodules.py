"""Answers with a module whose submodules lie hundreds of thousands deep."""

import torch
import wire


class MultiHeadAttention(torch.nn.Module):
    def __init__(self, embed_dim, num_heads, dropout=0.0):
        super().__init__()
        module = {"parameters": [], "buffers": [], "submodules": [".".join("a" * 500_000)]}
        wire.send(
            {
                "is": "Returned",
                "value": {"is": "Handle", "id": 1, "type": "M"},
                "call": 1,
                "module": module,
            }
        )
        wire.end()
