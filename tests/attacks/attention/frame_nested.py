"""Answers with a value nested as deeply as a message can be."""

import wire


def scaled_dot_product_attention(query, key, value, mask=None):
    value = {"is": "Plain", "value": 1}
    for _ in range(450):
        value = {"is": "Items", "kind": "tuple", "items": [value, value] if _ < 1 else [value]}
    wire.send({"is": "Returned", "value": value, "call": 1})
    wire.end()
