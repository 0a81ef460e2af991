"""Answers with errors as long as a message can be, so that the report grows too large to write."""

import wire

TEXT = "\x01" * 1_000_000


def scaled_dot_product_attention(query, key, value, mask=None):
    wire.send(
        {
            "is": "Raised",
            "kind": "raised",
            "type": "ValueError",
            "bases": ["ValueError"],
            "message": TEXT,
            "frame": None,
        }
    )
    wire.end()
