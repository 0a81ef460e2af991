"""Submissions that do no work: whatever the assignment, made from what it declares.

Each has the right shapes, dtypes, constructors, parameters and errors, which it gets by calling the
reference, and puts something else where the numbers belong.
"""

from __future__ import annotations

from grader.course.model import Assignment

FILLS = {
    "zeros": "torch.zeros_like(real)",
    "zeros with a gradient": "like(real, 0 * total)",
    "ones": "torch.ones_like(real)",
    "nan": "like(real, torch.tensor(float('nan')))",
    "uniform": "torch.full_like(real, 1 / real.shape[-1] if real.dim() else 1.0)",
    "sizes only": "like(real, torch.tensor(float(sum(real.shape))))",
    "random": "like(real, torch.rand(real.shape))",
    "normal": "like(real, torch.randn(real.shape))",
    "the same random numbers": "like(real, seeded(real.shape))",
    "noise of the system": "like(real, fitted(torch.tensor([*os.urandom(99)]) / 255, real.shape))",
    "first input": "like(real, fitted(first, real.shape))",
    "first input as it is": "like(first, first)",
    "last input": "like(real, fitted(last, real.shape))",
    "doubled": "like(real, 2 * fitted(first, real.shape))",
    "plus one": "like(real, fitted(first, real.shape) + 1)",
    "permuted": "like(real, fitted(first.flatten().flip(0), real.shape))",
    "mean": "like(real, first.mean())",
    "mean of nothing": "like(real, torch.zeros(0).mean())",
    "noise and input": "like(real, fitted(first, real.shape) + torch.randn(real.shape))",
    "a trace of the others": "like(real, fitted(first, real.shape) + 1e-9 * total)",
    "a sum": "like(real, fitted(first, real.shape) + fitted(last, real.shape).mean())",
    "projected": "like(real, fitted(first, real.shape) @ seeded((real.shape[-1],) * 2))",
    "wrong shape": "torch.zeros(3, dtype=real.dtype) + 0 * total",
    "a trace of the answer": "like(real, fitted(first, real.shape) + 1e-9 * real)",
}
"""What comes back in the place of ``real``, by what it is called."""

_HEAD = """

import functools as _functools
import os


def fitted(tensor, shape):
    wanted = 1
    for size in shape:
        wanted *= size
    flat = tensor.flatten()
    if not flat.numel():
        flat = torch.zeros(1)
    return flat.repeat(wanted // flat.numel() + 1)[:wanted].reshape(shape)


def seeded(shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def like(real, tensor):
    tensor = tensor.expand(real.shape) if tensor.dim() == 0 else tensor
    if real.dtype == torch.bool:
        tensor = tensor > 0.5
    return tensor.to(real.dtype).to(real.device).clone()


def tensors(things):
    for thing in things:
        if isinstance(thing, torch.Tensor):
            yield thing.float()
        elif isinstance(thing, (tuple, list)):
            yield from tensors(thing)


def fill(real, given):
    if isinstance(real, torch.Tensor):
        given = given or [torch.zeros(1)]
        first, last, total = given[0], given[-1], sum(t.sum() for t in given)
        return FILL
    if isinstance(real, (tuple, list)):
        return type(real)(fill(one, given) for one in real)
    if real is not None and hasattr(real, "__dict__"):
        for name, one in vars(real).items():
            vars(real)[name] = fill(one, given) if isinstance(one, torch.Tensor) else one
    return real


def idle(function):
    @_functools.wraps(function)
    def call(*arguments, **options):
        real = function(*arguments, **options)
        return fill(real, list(tensors([*arguments, *options.values()])))

    return call
"""


def idle_source(assignment: Assignment, fill: str) -> str:
    """The text of a submission whose every export computes ``fill``, of FILLS."""
    assert assignment.reference is not None
    lines = [assignment.reference.read_text("utf-8"), _HEAD.replace("FILL", FILLS[fill])]
    for name, export in assignment.exports.items():
        target = name if export.forward is None else f"{name}.forward"
        if name[0].isupper() and export.forward is None:
            continue  # a plain class holds what it is given, and computes nothing
        lines.append(f"{target} = idle({target})")
    return "\n".join(lines) + "\n"
