"""What holds for every attention that is a function of query, key and value."""

import torch

from grader.suite import assert_close, assert_shape

PLACES = ((0, slice(None)), (1, slice(None)), (slice(None), 0), (slice(None), 2))
"""Items of the batch, and heads."""


def assert_items_independent(call, tensors, draw, places=PLACES):
    """Changing one item of the batch (3, H, ...), or one head, moves no other one's output."""
    query, _, value = tensors
    items, heads, length, _ = query.shape
    before = call(*tensors)
    for place in places:
        others = torch.ones(items, heads, dtype=torch.bool)
        others[place] = False
        changed = [tensor.clone() for tensor in tensors]
        for tensor in changed:
            tensor[place] = draw.normal(*tensor[place].shape)
        after = call(*changed)
        sizes = [("B", items), ("H", heads), ("T", length), ("Dv", value.shape[-1])]
        assert_shape(after, sizes, "output")
        words = "Changing one item of the batch, or one head, moves the output of another."
        assert_close(after[others], before[others], "output", message=words)
