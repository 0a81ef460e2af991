"""Checks of what a layer holds: its declared matrices, loaded and trained."""

from __future__ import annotations

from typing import Any

import torch
from support_layers import Setting

from grader.suite import (
    CheckFailure,
    assert_close,
)


def assert_loads(setting: Setting, student: Any, draw: Any, batch: int, length: int) -> None:
    """What ``load_weights`` sets is what the module computes with: each matrix moves the output."""
    weights = setting.weights(draw)
    x = draw.normal(batch, length, setting.width)
    before = setting.output(setting.build(student, weights), x)
    for name in weights:
        other = {**weights, name: draw.normal(*weights[name].shape)}
        after = setting.output(setting.build(student, other), x)
        if torch.allclose(after, before, rtol=1e-4, atol=1e-5):
            raise CheckFailure(
                f"Another {name} gives the same output: either it is not used, or loading does "
                "not reach it."
            )
    silent = {**weights, "W_o": torch.zeros(setting.shapes["W_o"])}
    nothing = setting.output(setting.build(student, silent), x)
    assert_close(
        nothing,
        torch.zeros_like(nothing),
        "output",
        message="With W_o all zero the output has to be zero; something gets past W_o in yours.",
    )


def assert_parameter_count(setting: Setting, student: Any, draw: Any) -> None:
    """The module holds the numbers of the declared matrices, however they are arranged."""
    made = setting.build(student, setting.weights(draw))
    held = sum(parameter.numel() for parameter in made.parameters())
    matrices = sum(outputs * inputs for outputs, inputs in setting.shapes.values())
    biases = sum(outputs for outputs, _ in setting.shapes.values())
    detail = f"{held} numbers; expected {matrices}, and up to {biases} more for biases"
    if held == 0:
        raise CheckFailure("Your module has no registered parameters: nothing can train.", detail)
    if held < matrices:
        raise CheckFailure(
            "Your module's parameters hold fewer numbers than the handout's matrices do: one is "
            "too narrow, shared with another, or not registered.",
            detail,
        )
    if held > matrices + biases:
        raise CheckFailure(
            "Your module's parameters hold more numbers than the handout's matrices do: one is "
            "too wide, or there is one too many.",
            detail,
        )


def assert_all_trained(
    setting: Setting, student: Any, reference: Any, draw: Any, batch: int, length: int
) -> None:
    """Each entry of each matrix gets a gradient, and where the names are known the right one."""
    weights = setting.weights(draw)
    x = draw.normal(batch, length, setting.width)
    cotangent = draw.normal(batch, length, setting.width)
    gradients = []
    for module in (student, reference):
        made = setting.build(module, weights)
        output = setting.output(made, x, with_grad=True)
        if not output.requires_grad:
            raise CheckFailure(
                "No gradient can flow back from your output to any parameter: it is cut off, "
                "or nothing is registered."
            )
        (output * cotangent).sum().backward()
        gradients.append({name: parameter.grad for name, parameter in made.named_parameters()})
    mine, theirs = gradients
    for name, gradient in mine.items():
        declared = name.removesuffix(".weight") if name in theirs else "A parameter"
        if gradient is None:
            if name.endswith("bias"):
                continue
            raise CheckFailure(f"{declared} gets no gradient: it is not used, or cut off.")
        # Biases of keys have gradient 0, and no bias has more numbers than x has columns.
        if gradient.numel() > setting.width and _has_empty_slice(gradient):
            raise CheckFailure(
                f"{declared} gets no gradient in some of its rows or columns: a part of it is "
                "not used, or cut off."
            )
        wanted = theirs.get(name)
        if wanted is not None and name.endswith(".weight") and wanted.shape == gradient.shape:
            assert_close(gradient, wanted, f"gradient of {declared}", tol=(1e-3, 1e-4))


def _has_empty_slice(gradient: torch.Tensor) -> bool:
    """Whether all is 0 at some place of some axis."""
    axes = range(gradient.dim())
    return any(bool((gradient == 0).transpose(0, axis).flatten(1).all(1).any()) for axis in axes)
