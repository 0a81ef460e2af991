"""Carries what hidden checks pass in out in messages of its own making."""

import wire
from seen import note


def scaled_dot_product_attention(query, key, value, mask=None):
    seen = note(query)
    frame = {"file": "attention.py", "line": 3, "text": f"raise NotImplementedError  # {seen}"}
    match query.numel() % 4:
        case 0:
            wire.send({"is": "Unusable", "problem": seen})
        case 1:
            wire.send(
                {
                    "is": "Raised",
                    "kind": seen,
                    "type": "NotImplementedError",
                    "bases": [seen],
                    "message": seen,
                    "frame": frame,
                }
            )
        case 2:
            wire.send({"is": seen})
        case 3:
            wire.send(
                {
                    "is": "Returned",
                    "value": {"is": "Handle", "id": 1, "type": seen, "items": None},
                    "call": 1,
                }
            )
    wire.end()
