"""Answers with references to tensors, inputs and calls that are not there."""

import wire

VALUES = [
    {"is": "TensorRef", "index": -1},
    {"is": "TensorRef", "index": 2**40},
    {"is": "DType", "name": "load"},
    {"is": "DType", "name": "_dynamo"},
    {"is": "Handle", "id": -1, "type": "KVCache", "items": [{"is": "TensorRef", "index": 7}]},
    {"is": "Entries", "items": {"__class__": {"is": "Plain", "value": "str"}}},
]


def scaled_dot_product_attention(query, key, value, mask=None):
    value = VALUES[query.numel() % len(VALUES)]
    wire.send({"is": "Returned", "value": value, "call": -5, "changed": {99: 3}})
    wire.end()
