"""Checks of what each head attends to, and of how heads are put together."""

from __future__ import annotations

from typing import Any

import torch
from support_layers import AXES, Setting

from grader.suite import (
    CheckFailure,
    assert_close,
    assert_finite,
    assert_rows_sum_to_one,
    normalised_axis,
)


def assert_rows(setting: Setting, student: Any, draw: Any, batch: int, length: int) -> None:
    """The weights of each query sum to 1 over the keys."""
    made = setting.build(student, setting.showing(setting.weights(draw), length))
    output = setting.output(made, setting.tokens(draw, batch, length))
    assert_finite(output, "output")
    # The sum over heads and keys does not depend on how the heads are put side by side.
    total = output.sum(-1)
    if bool(((total - setting.heads).abs() > 1e-3).any()):
        assert_rows_sum_to_one(setting.seen(output), AXES)
        raise CheckFailure(
            "Each query of each head has to share out exactly 1 among its keys; yours do not."
        )


def assert_keys_axis(setting: Setting, student: Any, draw: Any, batch: int, length: int) -> None:
    """The weights are normalised over the keys and over no other axis."""
    made = setting.build(student, setting.showing(setting.weights(draw), length))
    output = setting.output(made, setting.tokens(draw, batch, length))
    assert_finite(output, "output")
    other = normalised_axis(setting.seen(output), AXES)
    if other is not None:
        raise CheckFailure(f"Your weights sum to 1 over {other}, not over the keys.")
    if bool(((output.sum(-1) - setting.heads).abs() > 1e-3).any()):
        raise CheckFailure("The weights of a query do not sum to 1 over the keys.")


def assert_scale(setting: Setting, student: Any, others: dict[str, float]) -> None:
    """Scores are divided by the root of the head width; ``others`` names likely wrong divisors."""
    width = setting.head_width
    x = torch.zeros(1, 2, setting.width)
    x[..., 0] = 1.0
    x[0, 0, 1] = 1.0
    x[..., -2:] = torch.eye(2)
    read = setting.read(setting.build(student, setting.flat(2)), x)
    if bool((read <= 0).any()):
        raise CheckFailure("A key that nothing blocks gets no weight.")
    ratios = read[..., 0].log() - read[..., 1].log()
    ratio, wanted = float(ratios.flatten()[0]), width**0.5
    if bool(((ratios - wanted).abs() <= 1e-3 * width).all()):
        return
    divisors = {
        "without any scale": 1.0,
        "divided by the head width itself, or twice by its root": float(width),
        "multiplied by the root instead of divided": wanted**-1,
        "with the root of the number of keys": 2**0.5,
        **others,
    }
    near = [words for words, by in divisors.items() if abs(ratio - width / by) < 1e-2]
    words = f" They are what they would be {near[0]}." if near else ""
    raise CheckFailure(
        f"Two keys whose scores differ by the head width get weights in the wrong ratio.{words}",
        f"log ratio {ratio:.4f}, expected {wanted:.4f}",
    )


def assert_weights_of_heads(
    setting: Setting, student: Any, draw: Any, batch: int, length: int
) -> None:
    """Each head's weights come from its own columns, and land in its own columns."""
    read, wanted = setting.show(student, draw, batch, length)
    if bool((read - wanted).abs().max() <= 1e-4):
        return
    by_head = [head.flatten() for head in wanted.transpose(0, 1)]
    found = [head.flatten() for head in read.transpose(0, 1).double()]
    if all(any(torch.allclose(f, w, atol=1e-4) for f in found) for w in by_head):
        raise CheckFailure("The heads are there, but in another order than the columns say.")
    raise CheckFailure(
        "The weights of a head, read from its own columns of the output, are not those that its "
        "own queries and keys give."
    )


def assert_own_values(setting: Setting, student: Any, draw: Any, batch: int, length: int) -> None:
    """Where each token sees itself alone, each head hands on its own value of that token."""
    weights = {**setting.weights(draw), "W_o": torch.eye(setting.width)}
    x = draw.normal(batch, length, setting.width)
    itself = torch.eye(length, dtype=torch.bool)
    output = setting.output(setting.build(student, weights), x, itself)
    wanted, _ = setting.plain(x, weights, itself)
    pieces = wanted.unflatten(-1, (setting.heads, setting.head_width))
    interleaved = pieces.transpose(-2, -1).flatten(2)
    if torch.allclose(output.double(), interleaved, atol=1e-4):
        raise CheckFailure(
            "The heads lie interleaved in your output, column by column; each head's columns "
            "belong side by side."
        )
    scrambled = pieces.transpose(1, 2).flatten(1).view_as(wanted)
    if torch.allclose(output.double(), scrambled, atol=1e-4):
        raise CheckFailure(
            "Tokens and heads are mixed up when the heads are merged: a row of your output holds "
            "pieces of several tokens."
        )
    assert_close(
        output,
        wanted,
        "output",
        message="With each token seeing only itself, every head has to hand on its own value of "
        "that token, in its own columns; yours does not.",
    )


def assert_output_projection(
    setting: Setting, student: Any, draw: Any, batch: int, length: int
) -> None:
    """The merged heads go through ``W_o``, once, the way ``nn.Linear`` does it."""
    weights = setting.weights(draw)
    x = draw.normal(batch, length, setting.width)
    merged = setting.output(setting.build(student, {**weights, "W_o": torch.eye(setting.width)}), x)
    output = setting.output(setting.build(student, weights), x)
    projection = weights["W_o"]
    if torch.allclose(output, merged, rtol=1e-4, atol=1e-4):
        raise CheckFailure("W_o changes nothing: the output projection is not applied.")
    if torch.allclose(output, merged @ projection, rtol=1e-4, atol=1e-4):
        raise CheckFailure("Your output projection is transposed.")
    if torch.allclose(output, merged @ projection.T @ projection.T, rtol=1e-4, atol=1e-4):
        raise CheckFailure("The output projection is applied twice.")
    assert_close(
        output,
        merged @ projection.T,
        "output",
        message="Your output is not what W_o makes of the merged heads.",
        tol=(1e-4, 1e-4),
    )
