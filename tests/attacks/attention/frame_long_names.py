"""Answers with an error whose type, bases and line are as long as a message can be."""

import wire

TEXT = "E" * 300_000


def scaled_dot_product_attention(query, key, value, mask=None):
    wire.send(
        {
            "is": "Raised",
            "kind": TEXT,
            "type": TEXT,
            "bases": ["Exception"] * 20_000,
            "message": "",
            "frame": {"file": TEXT, "line": 2**62, "text": TEXT},
        }
    )
    wire.end()
