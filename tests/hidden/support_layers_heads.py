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


def assert_heads_apart(setting: Setting, student: Any, draw: Any, batch: int, length: int) -> None:
    """A head's rows of a projection decide what that head attends to, and no other one."""
    weights = setting.showing(setting.weights(draw), length)
    x = setting.tokens(draw, batch, length)
    for name in setting.by_head:
        for head in range(setting.heads):
            rows = slice(head * setting.head_width, (head + 1) * setting.head_width)
            alone = torch.zeros_like(weights[name])
            alone[rows] = weights[name][rows]
            read = setting.read(setting.build(student, {**weights, name: alone}), x)
            # Queries, or keys, that are 0 give equal weights to all tokens.
            spread = (read.amax(-1) - read.amin(-1)).amax((0, 2)) > 1e-3
            if not bool(spread[head]):
                raise CheckFailure(
                    f"The rows of {name} that belong to a head do not decide what it attends to."
                )
            if int(spread.sum()) > 1:
                raise CheckFailure(
                    f"The rows of {name} that belong to one head change what another attends to."
                )


def assert_own_values(setting: Setting, student: Any, draw: Any, batch: int, length: int) -> None:
    """Where each token attends to itself alone, each head hands on its own value of that token."""
    weights = {**setting.itself(setting.weights(draw), length), "W_o": torch.eye(setting.width)}
    x = setting.tokens(draw, batch, length)
    output = setting.output(setting.build(student, weights), x)
    wanted, _ = setting.plain(x, weights)
    pieces = wanted.unflatten(-1, (setting.heads, setting.head_width))
    if torch.allclose(output.double(), pieces.transpose(-2, -1).flatten(2), atol=1e-4):
        raise CheckFailure(
            "The heads lie interleaved in your output, column by column; each head's columns "
            "belong side by side."
        )
    if torch.allclose(output.double(), pieces.transpose(1, 2).reshape(wanted.shape), atol=1e-4):
        raise CheckFailure(
            "Tokens and heads are mixed up when the heads are merged: a row of your output holds "
            "pieces of several tokens."
        )
    assert_close(
        output,
        wanted,
        "output",
        message="With each token attending to itself alone, every head has to hand on its own "
        "value of that token, in its own columns; yours does not.",
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
    # What dtype comes back is looked at elsewhere.
    merged, output = merged.to(x.dtype), output.to(x.dtype)
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
