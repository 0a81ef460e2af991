"""Checks of numbers, gradients, dtypes and manners."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from support_layers import RANKS, Setting, assert_equals_reference, mask_of_rank

from grader.suite import (
    CheckFailure,
    assert_close,
    assert_dtype,
    assert_same_gradients,
    assert_unchanged,
)


def assert_large_scores(setting: Setting, student: Any, draw: Any, batch: int, length: int) -> None:
    """Large scores give finite and right weights."""
    weights = setting.showing(setting.weights(draw), length)
    made = setting.build(student, weights)
    for size in (5.0, 20.0):
        x = setting.tokens(draw, batch, length)
        x[..., :-length] *= size
        read = setting.read(made, x)
        # At such scores the rounding of float32 itself moves a weight by up to about 1e-2.
        assert_close(read, setting.plain(x, weights)[1], "weights", tol=(0.0, 5e-2))


def assert_input_gradients(
    setting: Setting,
    student: Any,
    reference: Any,
    draw: Any,
    batch: int,
    length: int,
    mask: torch.Tensor | None,
) -> None:
    """The gradient of x is right."""
    weights = setting.weights(draw)
    mine, theirs = (setting.build(module, weights) for module in (student, reference))
    x = draw.normal(batch, length, setting.width)
    assert_same_gradients(
        lambda x: setting.output(mine, x, mask, with_grad=True),
        lambda x: setting.output(theirs, x, mask, with_grad=True),
        {"x": x},
        draw,
    )


def assert_dtype_kept(
    setting: Setting, student: Any, draw: Any, dtype: torch.dtype, batch: int, length: int
) -> None:
    """In and out in ``dtype``, with its precision kept where it is float32 or less."""
    weights = setting.small_weights(draw)
    made = setting.build(student, weights, dtype=dtype)
    x = draw.normal(batch, length, setting.width, dtype=torch.bfloat16).to(dtype)
    for mask in (None, draw.mask(batch, length, length)):
        output = setting.output(made, x, mask)
        assert_dtype(output, dtype, "output")
        assert_close(output, setting.plain(x, weights, mask)[0], "output")


def assert_runs_on_meta(setting: Setting, student: Any, draw: Any, batch: int, length: int) -> None:
    """Nothing names a device."""
    made = setting.build(student, setting.weights(draw)).to("meta")
    x = torch.empty(batch, length, setting.width, device="meta")
    output = setting.output(made, x)
    if output.device.type != "meta":
        raise CheckFailure("Your output is on another device than the input.")


def assert_inputs_untouched(
    setting: Setting, student: Any, draw: Any, batch: int, length: int
) -> None:
    """x and mask hold afterwards what they held before."""
    made = setting.build(student, setting.weights(draw))
    for rank in RANKS:
        mask = mask_of_rank(draw, rank, batch, setting.heads, length)
        named = {"x": draw.normal(batch, length, setting.width), "mask": mask}
        before = {name: tensor.clone() for name, tensor in named.items()}
        setting.output(made, named["x"])
        setting.output(made, named["x"], mask)
        assert_unchanged(before, named)


def assert_nothing_remembered(
    setting: Setting, student: Any, draw: Any, batch: int, length: int
) -> None:
    """A call leaves nothing behind for the next one."""
    made = setting.build(student, setting.weights(draw))
    x = draw.normal(batch, length, setting.width)
    first = setting.output(made, x)
    setting.output(made, draw.normal(batch + 1, length + 2, setting.width))
    setting.output(made, x, draw.mask(length, length))
    assert_close(
        setting.output(made, x),
        first,
        "output",
        message="The same input gives another output after other calls: something is remembered.",
    )


def assert_items_independent(
    setting: Setting, student: Any, draw: Any, batch: int, length: int
) -> None:
    """The items of a batch do not see each other."""
    made = setting.build(student, setting.weights(draw))
    x = draw.normal(batch, length, setting.width)
    before = setting.output(made, x)
    words = "Changing one item of the batch moves the output of another."
    changed = x.clone()
    changed[1] = draw.normal(length, setting.width) * 3
    others = [item for item in range(batch) if item != 1]
    assert_close(setting.output(made, changed)[others], before[others], "output", message=words)
    assert_close(
        setting.output(made, x[1:2]),
        before[1:2],
        "output",
        message="An item alone gives another output than in a batch.",
    )
    watched = x.clone().requires_grad_()
    output = setting.output(made, watched, with_grad=True)
    if output.requires_grad:
        (gradient,) = torch.autograd.grad((output[1] * draw.normal(*x.shape[1:])).sum(), watched)
        if bool((gradient[others].abs() > 1e-6).any()):
            raise CheckFailure(words)


def assert_any_layout(
    setting: Setting, student: Any, reference: Any, draw: Any, batch: int, length: int
) -> None:
    """Inputs need not be contiguous in memory."""
    width = setting.width
    mask = draw.mask(batch, 1, length, length).expand(batch, setting.heads, length, length)
    flipped = draw.mask(length, length) | torch.eye(length, dtype=torch.bool)
    for x, given in (
        (draw.normal(length, batch, width).transpose(0, 1), None),
        (draw.normal(batch, width, length).transpose(1, 2), flipped.T),
        (draw.normal(1, length, width).expand(batch, length, width), mask),
        (draw.normal(batch, length, 2 * width)[..., ::2], None),
    ):
        assert_equals_reference(setting, student, reference, draw, x, given)


def assert_sizes(
    student: Any, reference: Any, draw: Any, cases: Sequence[tuple[Setting, int, int]]
) -> None:
    """Shapes and values for each (setting, B, T)."""
    for setting, batch, length in cases:
        x = draw.normal(batch, length, setting.width)
        assert_equals_reference(setting, student, reference, draw, x)


def assert_not_forbidden(forbidden_uses: Sequence[Any]) -> None:
    """The submission passes no forbidden option and calls nothing forbidden."""
    if forbidden_uses:
        first = forbidden_uses[0]
        name = first.name.removesuffix("=")
        raise CheckFailure(f"Line {first.line} uses {name}, which this assignment does not allow.")
