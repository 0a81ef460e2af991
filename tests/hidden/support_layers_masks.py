"""Checks of masks and of causality."""

from __future__ import annotations

from typing import Any

import torch
from support_layers import Setting, lifted, mask_of_rank

from grader.suite import (
    CheckFailure,
    assert_close,
)


def assert_mask_meaning(setting: Setting, student: Any, draw: Any, batch: int, length: int) -> None:
    """True means allowed: blocked keys get no weight, allowed keys get some."""
    mask = draw.mask(length, length)
    made = setting.build(student, setting.showing(setting.weights(draw), length))
    read = setting.read(made, setting.tokens(draw, batch, length), mask)
    allowed = mask.expand(read.shape)
    if bool((read[allowed] < 1e-12).all()) and bool((read[~allowed] > 0).any()):
        raise CheckFailure("Your mask is inverted: the blocked keys get the weight.")
    if float(read[~allowed].abs().max()) > 1e-6:
        raise CheckFailure("Keys that the mask blocks still get weight.")
    if bool((read[allowed] <= 0).any()):
        raise CheckFailure("Keys that the mask allows get no weight.")
    if bool(((read.sum(-1) - 1).abs() > 1e-4).any()):
        raise CheckFailure(
            "Under a mask the allowed weights of a query no longer sum to 1: the mask has to act "
            "before softmax."
        )


def assert_mask_of_rank(
    setting: Setting, student: Any, draw: Any, rank: str, batch: int, length: int
) -> None:
    """A mask of the given rank blocks what its axes say, in each item and each head."""
    mask = mask_of_rank(draw, rank, batch, setting.heads, length)
    made = setting.build(student, setting.showing(setting.weights(draw), length))
    read = setting.read(made, setting.tokens(draw, batch, length), mask)
    if _obeys(read, lifted(mask)):
        return
    if rank == "(B, T, S)" and batch == setting.heads and _obeys(read, mask.unsqueeze(0)):
        raise CheckFailure(
            "A mask (B, T, S) holds one mask for each item of the batch; yours gives one to "
            "each head."
        )
    raise CheckFailure(
        f"With a mask of shape {rank}, some head of some item does not see exactly the keys that "
        "the mask allows it."
    )


def _obeys(read: torch.Tensor, mask: torch.Tensor) -> bool:
    """Whether exactly the keys that ``mask`` allows get weight."""
    allowed = mask.expand(read.shape)
    return bool((read[~allowed].abs() <= 1e-6).all()) and bool((read[allowed] > 0).all())


def assert_no_influence(setting: Setting, student: Any, draw: Any, batch: int, length: int) -> None:
    """A token that nobody may see moves no other token's output, however large it is."""
    mask = draw.mask(length, length)
    mask[..., 2] = False
    mask[..., 3] = True
    made = setting.build(student, setting.weights(draw))
    x = draw.normal(batch, length, setting.width)
    before = setting.output(made, x, mask)
    others = [token for token in range(length) if token != 2]
    for size in (1e2, 1e4):
        loud = x.clone()
        loud[:, 2] = size * draw.normal(batch, setting.width)
        after = setting.output(made, loud, mask)
        assert_close(
            after[:, others],
            before[:, others],
            "output",
            message="A token that no query may see changes other tokens' outputs when it grows.",
        )


def assert_low_scores(setting: Setting, student: Any, length: int) -> None:
    """Blocked keys get nothing even where the scores of all the allowed ones are very low."""
    mask = torch.ones(length, length, dtype=torch.bool).tril()
    made = setting.build(student, setting.flat(length))
    for low in (-1e2, -1e4):
        x = torch.zeros(1, length, setting.width)
        x[..., 0] = 1.0
        x[..., 1] = low
        x[..., -length:] = torch.eye(length)
        read = setting.read(made, x, mask)
        wanted = (mask / mask.sum(-1, keepdim=True)).expand(1, setting.heads, length, length)
        assert_close(
            read,
            wanted,
            "weights",
            message="Blocked keys get weight where the scores of the allowed keys are very low.",
            tol=(0.0, 2e-2),
        )


def assert_all_true_is_none(
    setting: Setting, student: Any, draw: Any, batch: int, length: int
) -> None:
    """A mask that allows everything equals no mask."""
    made = setting.build(student, setting.weights(draw))
    x = draw.normal(batch, length, setting.width)
    without = setting.output(made, x)
    for shape in ((length, length), (batch, setting.heads, length, length)):
        output = setting.output(made, x, torch.ones(shape, dtype=torch.bool))
        assert_close(
            output,
            without,
            "output",
            message="With everything allowed the output has to be what it is without a mask.",
        )


def assert_no_leak(setting: Setting, student: Any, draw: Any, batch: int, length: int) -> None:
    """Under a causal mask an output depends on the tokens up to its own, and on all of them."""
    causal = torch.ones(length, length, dtype=torch.bool).tril()
    made = setting.build(student, setting.weights(draw))
    x = draw.normal(batch, length, setting.width)
    before = setting.output(made, x, causal)
    leak = "The output at a token moves when only later tokens change: the future leaks."
    for place in range(1, length):
        later = x.clone()
        later[:, place:] = draw.normal(batch, length - place, setting.width) * 3
        after = setting.output(made, later, causal)
        assert_close(after[:, :place], before[:, :place], "output", message=leak)
    watched = x.clone().requires_grad_()
    output = setting.output(made, watched, causal, with_grad=True)
    if not output.requires_grad:
        raise CheckFailure("No gradient can flow back from your output to the input.")
    for place in range(length):
        wanted = (output[0, place] * draw.normal(setting.width)).sum()
        (gradient,) = torch.autograd.grad(wanted, watched, retain_graph=True)
        reached = gradient[0].abs().amax(-1)
        if bool((reached[place + 1 :] > 1e-6).any()):
            raise CheckFailure(leak)
        if bool((reached[: place + 1] == 0).any()):
            raise CheckFailure("A query does not see all the tokens that it may see.")
