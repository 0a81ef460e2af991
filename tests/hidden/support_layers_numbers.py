"""Checks of numbers, gradients, dtypes and manners."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from support_layers import Setting, mask_of_rank, undone_by_mask

from grader.suite import (
    CheckFailure,
    assert_close,
    assert_dtype,
    assert_finite,
    assert_unchanged,
    tolerance,
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


def assert_right_gradients(
    setting: Setting,
    student: Any,
    reference: Any,
    draw: Any,
    batch: int,
    length: int,
    mask: torch.Tensor | None,
) -> None:
    """The gradients of x, and of matrices that go by their declared names, are right."""
    weights = setting.weights(draw)
    x = draw.normal(batch, length, setting.width)
    cotangent = draw.normal(*x.shape)
    found = []
    for module in (student, reference):
        made = setting.build(module, weights)
        watched = x.clone().requires_grad_()
        output = setting.output(made, watched, mask, with_grad=True)
        if not output.requires_grad:
            raise CheckFailure("No gradient can flow back from your output to the input.")
        (output * cotangent).sum().backward()
        gradients = {name: parameter.grad for name, parameter in made.named_parameters()}
        found.append({"x": watched.grad, **gradients})
    mine, theirs = found
    for name in ("x", *(f"{matrix}.weight" for matrix in setting.shapes)):
        words = name.removesuffix(".weight")
        got, wanted = mine.get(name), theirs[name]
        assert wanted is not None
        if got is None and name in mine:
            raise CheckFailure(f"No gradient reaches {words}: it is cut off from the output.")
        if got is not None:
            assert_close(got, wanted, f"gradient of {words}", tol=(1e-3, 1e-4))


def assert_dtype_kept(
    setting: Setting, student: Any, draw: Any, dtype: torch.dtype, batch: int, length: int
) -> None:
    """In and out in ``dtype``, with the numbers that float32 gives."""
    weights = setting.small_weights(draw)
    x = draw.normal(batch, length, setting.width, dtype=torch.bfloat16)
    for mask in (None, draw.mask(length, length)):
        wanted = setting.output(setting.build(student, weights), x.float(), mask)
        output = setting.output(setting.build(student, weights, dtype=dtype), x.to(dtype), mask)
        assert_dtype(output, dtype, "output")
        if undone_by_mask(wanted, mask):
            continue
        name = str(dtype).removeprefix("torch.")
        words = f"In {name} your output is not what it is in float32."
        assert_close(output, wanted, "output", message=words, tol=tolerance(dtype))


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
    for rank in ("(T, S)", "(B, H, T, S)"):
        mask = mask_of_rank(draw, rank, batch, setting.heads, length)
        named = {"x": draw.normal(batch, length, setting.width), "mask": mask}
        before = {name: tensor.clone() for name, tensor in named.items()}
        setting.output(made, named["x"], as_it_lies=True)
        setting.output(made, named["x"], mask, as_it_lies=True)
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


def assert_any_layout(setting: Setting, student: Any, draw: Any, batch: int, length: int) -> None:
    """Inputs need not be contiguous in memory."""
    width = setting.width
    mask = draw.mask(batch, 1, length, length).expand(batch, setting.heads, length, length)
    square = draw.mask(length, length) | torch.eye(length, dtype=torch.bool)
    made = setting.build(student, setting.weights(draw))
    for x, given in (
        (draw.normal(length, batch, width).transpose(0, 1), None),
        (draw.normal(batch, width, length).transpose(1, 2), square.T),
        (draw.normal(1, length, width).expand(batch, length, width), mask),
        (draw.normal(batch, length, 2 * width)[..., ::2], None),
    ):
        whole = None if given is None else given.contiguous()
        output = setting.output(made, x, given, as_it_lies=True)
        wanted = setting.output(made, x.contiguous(), whole)
        if undone_by_mask(wanted, given):
            continue
        assert_close(
            output,
            wanted,
            "output",
            message="The output depends on how x or the mask lie in memory.",
        )


def assert_sizes(student: Any, draw: Any, cases: Sequence[tuple[Setting, int, int]]) -> None:
    """The output has the shape of x for each (setting, B, T), with and without a mask."""
    for setting, batch, length in cases:
        made = setting.build(student, setting.weights(draw))
        x = draw.normal(batch, length, setting.width)
        assert_finite(setting.output(made, x), "output")
        setting.output(made, x, torch.ones(length, length, dtype=torch.bool))
