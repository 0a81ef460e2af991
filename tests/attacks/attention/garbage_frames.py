"""Answers with bytes that are no message: garbage, a pickle, JSON, a message nested too deeply."""

import pickle

import wire

BODIES = [
    b"\xc1" * 64,
    pickle.dumps(print),
    b'{"is": "Done"}',
    b"\x91" * 900_000 + b"\xc0",
    b"",
]
COUNT = 0


def scaled_dot_product_attention(query, key, value, mask=None):
    body = BODIES[query.numel() % len(BODIES)]
    wire.raw(wire.LENGTHS.pack(len(body), 0) + body)
    wire.end()
