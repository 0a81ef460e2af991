"""The state of torch's random numbers, which the tests and the subject share.

``torch.manual_seed`` in a test then reaches the subject, as it would in one process.
"""

from __future__ import annotations

import torch

from grader.wire.tensors import raw_bytes


def get() -> bytes:
    return bytes(raw_bytes(torch.get_rng_state()))


def put(state: bytes) -> None:
    """Raises RuntimeError for what is no state."""
    torch.set_rng_state(torch.frombuffer(bytearray(state), dtype=torch.uint8))
