"""Assertions for suites. Each says what is wrong in words fit for a student.

Messages are made of fixed words and the names that the suite passes; numbers go into the detail,
which is shown for public checks and to instructors only.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy
import torch

from grader.session.errors import (
    CheckFailure,
    InputsChanged,
    Measured,
    StudentError,
    WrongShape,
    measured,
)
from grader.session.student.calls import was_written_to
from grader.wire.messages import ForbiddenUse

FLOAT32 = (1e-4, 1e-5)
"""Relative and absolute tolerance for one layer in float32, and for any dtype above it."""
STACK = (1e-4, 1e-4)
BFLOAT16 = (2e-2, 2e-2)


def tolerance(dtype: torch.dtype) -> tuple[float, float]:
    """Relative and absolute tolerance for results of ``dtype``."""
    return BFLOAT16 if dtype in (torch.bfloat16, torch.float16) else FLOAT32


def assert_shape(
    tensor: torch.Tensor, sizes: Sequence[tuple[str, int]] | Mapping[str, int], what: str
) -> None:
    """``tensor`` has the sizes given, each with the letter the handout calls it by."""
    pairs = list(sizes.items()) if isinstance(sizes, Mapping) else list(sizes)
    if tuple(tensor.shape) == tuple(size for _, size in pairs):
        return
    expected = _shape([name for name, _ in pairs])
    letters: dict[int, str] = {}
    for name, size in pairs:
        letters.setdefault(size, name)
    got = _shape([letters.get(n, "another size") for n in tensor.shape[:8]])
    axes = "axis" if tensor.dim() == 1 else "axes"
    words = (
        f"The shape of your {what} has to be {expected}; yours has {tensor.dim()} {axes}: {got}."
    )
    raise WrongShape(words, f"expected {_sizes(pairs)}, got {tuple(tensor.shape)}")


def assert_rows_sum_to_one(
    weights: torch.Tensor, axes: Sequence[str] = ("queries", "keys"), *, tol: float = 1e-4
) -> None:
    """The last axis of ``weights`` sums to 1, and no weight is negative.

    ``axes`` names the axes, the last ones first from the end, for the message if another one sums
    to 1 instead.
    """
    weights = weights.detach()
    assert_finite(weights, "weights")
    sums = weights.double().sum(-1)
    if bool((weights < -tol).any()):
        raise CheckFailure(
            "Some of your weights are negative; shares of attention cannot be.",
            measured("the smallest is {:.4f}", float(weights.min())),
        )
    if _is_one(sums, tol):
        return
    detail = _sums(sums)
    other = normalised_axis(weights, axes, tol=tol)
    if other is not None:
        raise CheckFailure(
            f"Your weights sum to 1 over {other}, not over the {axes[-1]}: each query has to share "
            f"out exactly 1 among its {axes[-1]}.",
            detail,
        )
    raise CheckFailure(
        f"Each query has to share out exactly 1 among its {axes[-1]}; your rows do not sum to 1.",
        detail,
    )


def normalised_axis(weights: torch.Tensor, axes: Sequence[str], *, tol: float = 1e-4) -> str | None:
    """The name of the axis, other than the last, over which ``weights`` sum to 1, if there is one.

    Also recognises the last two axes together.
    """
    values = weights.double()
    for back, name in enumerate(reversed(axes[:-1]), start=2):
        if values.dim() >= back and _is_one(values.sum(-back), tol):
            return f"the {name}"
    if values.dim() >= 2 and _is_one(values.sum((-2, -1)), tol):
        return f"the {axes[-2]} and {axes[-1]} together"
    return None


def assert_finite(tensor: torch.Tensor, what: str) -> None:
    """``tensor`` holds numbers, and neither NaN nor infinity among them."""
    if tensor.numel() == 0:  # of which everything would be true
        raise CheckFailure(f"There are no numbers in your {what}: one of its axes has size 0.")
    if bool(torch.isnan(tensor).any()):
        raise CheckFailure(f"There is NaN (not a number) in your {what}.")
    if bool(torch.isinf(tensor).any()):
        raise CheckFailure(f"There are infinite numbers in your {what}.")


def assert_close(
    actual: torch.Tensor,
    expected: torch.Tensor,
    what: str,
    *,
    message: str | None = None,
    tol: tuple[float, float] | None = None,
    equal_nan: bool = False,
) -> None:
    """``actual`` equals ``expected`` within tolerance (relative, absolute).

    Without ``tol`` the dtype of what is expected decides, not the one that came: pass
    ``tolerance(dtype)`` where ``expected`` is of a higher precision than was promised.

    Where infinity is expected, the same infinity has to be, and nowhere else. NaN equals nothing;
    with ``equal_nan`` it has to be where NaN is expected, and nowhere else.
    """
    if actual.shape != expected.shape:
        raise WrongShape(
            message or f"The shape of your {what} is not the expected one.",
            f"expected {tuple(expected.shape)}, got {tuple(actual.shape)}",
        )
    relative, absolute = tol or tolerance(expected.dtype)
    mine, theirs = actual.detach().double(), expected.detach().double()
    allowed = absolute + relative * theirs.abs()
    gap = (mine - theirs).abs().nan_to_num(nan=torch.inf)
    same = torch.where(theirs.isfinite(), gap <= allowed, mine == theirs)
    if equal_nan:
        same |= mine.isnan() & theirs.isnan()
    wrong = ~same
    if not bool(wrong.any()):
        return
    if bool((wrong & mine.isnan()).any()):
        raise CheckFailure(f"There is NaN (not a number) in your {what}.")
    worst = torch.where(wrong, gap, -1.0).flatten().argmax()
    # torch.unravel_index would import sympy, half a second's worth.
    place = tuple(int(i) for i in numpy.unravel_index(int(worst), tuple(mine.shape)))
    at = f"({', '.join(['{:.0f}'] * len(place))}{',' if len(place) == 1 else ''})"
    raise CheckFailure(
        message or f"The numbers in your {what} are not the expected ones.",
        measured(
            "{:.0f} of {:.0f} numbers differ; at " + at + " expected {:.6g}, got {:.6g}",
            *(int(wrong.sum()), wrong.numel(), *place, float(theirs[place]), float(mine[place])),
        ),
    )


def assert_dtype(tensor: torch.Tensor, dtype: torch.dtype, what: str) -> None:
    """``tensor`` has the dtype that went in."""
    if tensor.dtype != dtype:
        wanted = str(dtype).removeprefix("torch.")
        raise CheckFailure(
            f"Given {wanted}, your {what} has to be {wanted}; yours has another dtype.",
            f"yours is {tensor.dtype}",
        )


def assert_unchanged(before: Mapping[str, torch.Tensor], after: Mapping[str, torch.Tensor]) -> None:
    """Tensors that were passed in still hold what they held.

    Only this assertion makes a check lose its points for that: any other check that meets it is
    run again without what was written.
    """
    for name, tensor in before.items():
        if was_written_to(after[name]) or not torch.equal(tensor, after[name]):
            raise InputsChanged(
                f"Your code wrote into its input {name}; the caller still needs what was there."
            )


@contextlib.contextmanager
def assert_raises(*errors: type[Exception], when: str) -> Iterator[None]:
    """The block makes the student's code raise one of ``errors``; ``when`` says in which case."""
    names = " or ".join(error.__name__ for error in errors)
    try:
        yield
    except StudentError as error:
        if isinstance(error, errors):
            return
        if error.is_stub:
            raise
        raise CheckFailure(
            f"When {when}, {names} has to be raised; your code raised something else.", str(error)
        ) from None
    raise CheckFailure(f"When {when}, {names} has to be raised; your code returned instead.")


def assert_not_forbidden(uses: Sequence[ForbiddenUse]) -> None:
    """The submission uses nothing that its assignment forbids; takes ``forbidden_uses``."""
    if uses:
        first = uses[0]
        place = first.place[0].upper() + first.place[1:]
        name = first.name.removesuffix("=")
        if first.problem:
            raise CheckFailure(
                f"{first.file or 'Your file'} could not be analysed: {first.problem}. Nobody can "
                "tell whether it keeps to what this assignment allows."
            )
        if first.by:
            raise CheckFailure(
                f"{place} uses {first.by}. That does the job of {name}, which this assignment does "
                "not allow."
            )
        raise CheckFailure(f"{place} uses {name}, which this assignment does not allow.")


def assert_started(function: Callable[..., Any], *arguments: Any, **options: Any) -> None:
    """The function is no untouched stub; whether it works is another check's matter."""
    try:
        function(*arguments, **options)
    except StudentError as error:
        if error.is_stub:
            raise
    except CheckFailure:
        pass


def gradients(
    function: Callable[..., Any],
    inputs: Sequence[torch.Tensor],
    cotangent: Callable[[torch.Tensor], torch.Tensor],
    *,
    which: int | None = 0,
) -> list[torch.Tensor | None]:
    """Gradients of ``(result * cotangent(result)).sum()`` with respect to ``inputs``.

    ``which`` picks the result of several. Raises CheckFailure where nothing can flow back.
    """
    leaves = [tensor.detach().requires_grad_() for tensor in inputs]
    result = function(*leaves)
    if which is not None and isinstance(result, tuple):
        result = result[which]
    if not result.requires_grad:
        raise CheckFailure(
            "No gradient can flow back through your result: it is cut off from the inputs "
            "(by detach, .data, no_grad or a conversion)."
        )
    total = (result * cotangent(result)).sum()
    return list(torch.autograd.grad(total, leaves, allow_unused=True))


def assert_same_gradients(
    actual: Callable[..., Any],
    expected: Callable[..., Any],
    inputs: Mapping[str, torch.Tensor],
    draw: Any,
    *,
    which: int | None = 0,
    tol: tuple[float, float] = (1e-3, 1e-4),
) -> None:
    """Gradients of every input agree, for one random cotangent."""
    cotangents: list[torch.Tensor] = []

    def cotangent(result: torch.Tensor) -> torch.Tensor:
        if not cotangents:
            cotangents.append(draw.normal(*result.shape).to(result.dtype))
        if cotangents[0].shape != result.shape:
            raise CheckFailure("Your output does not have the expected shape.")
        return cotangents[0]

    theirs = gradients(expected, list(inputs.values()), cotangent, which=which)
    mine = gradients(actual, list(inputs.values()), cotangent, which=which)
    for name, got, wanted in zip(inputs, mine, theirs, strict=True):
        if wanted is None:
            continue
        if got is None:
            raise CheckFailure(f"No gradient reaches {name}: it is cut off from the output.")
        assert_close(got, wanted, f"gradient of {name}", tol=tol)


def _shape(names: Sequence[str]) -> str:
    return f"({', '.join(names)}{',' if len(names) == 1 else ''})"


def _sizes(pairs: Sequence[tuple[str, int]]) -> str:
    return _shape([f"{name}={size}" for name, size in pairs])


def _is_one(sums: torch.Tensor, tol: float) -> bool:
    return bool(((sums - 1).abs() <= tol).all())


def _sums(values: torch.Tensor, count: int = 6) -> Measured:
    some = values.flatten()[:count].tolist()
    more = ", ..." if values.numel() > count else ""
    return measured("your rows sum to " + ", ".join(["{:.3f}"] * len(some)) + more, *some)
