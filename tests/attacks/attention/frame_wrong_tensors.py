"""Answers with tensors that claim another shape, dtype, size, stride or device than they have."""

import wire

CLAIMS = [
    ["float32", [1 << 40], 8, [], "cpu", False],
    ["float32", [0, 1 << 62], 0, [], "cpu", False],
    ["float32", [-1, -1], 4, [], "cpu", False],
    ["float32", [2], 8, [1 << 30], "cpu", False],
    ["float32", [2] * 64, 8, [], "cpu", False],
    ["quint8", [8], 8, [], "cpu", False],
    ["float32", [2], 8, [], "cuda", False],
    ["float32", [1 << 39], 0, [], "meta", False],
    ["bool", [8], 8, [], "cpu", True],
    ["float32", [2], -8, [], "cpu", False],
]


def scaled_dot_product_attention(query, key, value, mask=None):
    claim = CLAIMS[query.numel() % len(CLAIMS)]
    pair = [{"is": "TensorRef", "index": 0}, {"is": "TensorRef", "index": 0}]
    wire.send(
        {
            "is": "Returned",
            "value": {"is": "Items", "kind": "tuple", "items": pair},
            "call": 1,
            "tensors": [claim],
        },
        b"\x01" * 8,
    )
    wire.end()
