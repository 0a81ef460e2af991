"""Answers honestly until the numbers of its parameters are read, and then with others."""

import wire
from honest import MultiHeadAttention

from grader.execution import executor


def read(module, names, packer):
    wire.send(
        {
            "is": "Returned",
            "value": {
                "is": "Entries",
                "items": {name: {"is": "TensorRef", "index": 0} for name in names},
            },
            "call": 1,
            "tensors": [["uint8", [3], 3]],
        },
        b"abc",
    )
    wire.end()


executor.read_numbers = read
