"""Probes: what tells one misconception from another."""

from __future__ import annotations

from typing import Any

import torch
from support_layers import Setting, Weights

from grader.suite import (
    CheckFailure,
)


def outcome(
    setting: Setting, student: Any, draw: Any, x: torch.Tensor, mask: Any = None
) -> Weights:
    """All that the module returns for ``x``, by number."""
    made = setting.build(student, setting.weights(draw))
    result = made(x) if mask is None else made(x, mask=mask)
    results = result if isinstance(result, tuple) else (result,)
    return {f"result {number}": tensor for number, tensor in enumerate(results)}


def outcome_of_gradients(
    setting: Setting, student: Any, draw: Any, batch: int, length: int
) -> Weights:
    """The gradient of x, where there is one, and which declared matrices get one."""
    made = setting.build(student, setting.weights(draw))
    x = draw.normal(batch, length, setting.width, requires_grad=True)
    output = setting.output(made, x, draw.mask(length, length), with_grad=True)
    if not output.requires_grad:
        return {}
    (output * draw.normal(*output.shape)).sum().backward()
    parameters = dict(made.named_parameters())
    found = {}
    for name in setting.shapes:
        parameter = parameters.get(f"{name}.weight")
        trained = parameter is None or parameter.grad is not None
        found[name] = torch.tensor([float(trained)])
    return found if x.grad is None else {**found, "x": x.grad}


def outcome_of_dropout(
    setting: Setting, student: Any, draw: Any, batch: int, length: int
) -> Weights:
    """What training does to the weights, in answers of yes (1) and no (0)."""
    rate = 0.25
    weights = setting.showing(setting.weights(draw), length, copies=2)
    x = setting.tokens(draw, batch, length)
    made = setting.build(student, weights, dropout=rate)
    still = setting.output(made, x)
    repeated = bool(torch.allclose(setting.output(made, x), still, atol=1e-6))
    made.train()
    outputs = [setting.output(made, x) for _ in range(8)]
    alive = torch.stack([setting.seen(output) for output in outputs]).abs() >= 1e-12
    calm = setting.seen(still)
    ratios = torch.stack([setting.seen(output) / calm for output in outputs])[alive]
    twins = [setting.seen(output) - setting.seen(output, copy=1) for output in outputs]
    default = setting.build(student, weights).train()
    answers = {
        "evaluation repeats": repeated,
        "training repeats": all(torch.equal(output, outputs[0]) for output in outputs),
        "training equals evaluation": torch.allclose(outputs[0], still, atol=1e-6),
        "copies agree": all(bool((twin.abs() < 1e-6).all()) for twin in twins),
        "some are zero": not bool(alive.all()),
        "most are zero": float(alive.double().mean()) < 0.5,
        "survivors as they were": bool(((ratios - 1).abs() < 1e-3).all()),
        "survivors scaled": bool(((ratios - 1 / (1 - rate)).abs() < 1e-3).all()),
        "none by default": torch.allclose(setting.output(default, x), still, atol=1e-6),
    }
    return {"answers": torch.tensor([float(answer) for answer in answers.values()])}


def outcome_of_construction(setting: Setting, student: Any, **options: int) -> Weights:
    """Whether the constructor accepts these sizes."""
    try:
        getattr(student, setting.export)(**{**setting.options, **options})
    except CheckFailure:
        raise
    except (ValueError, AssertionError):
        return {"accepted": torch.zeros(1)}
    return {"accepted": torch.ones(1)}


def outcome_of_counting(setting: Setting, student: Any, draw: Any) -> Weights:
    """Whether the parameters hold too few numbers (-1), too many (1) or neither (0)."""
    made = setting.build(student, setting.weights(draw))
    held = sum(parameter.numel() for parameter in made.parameters())
    matrices = sum(outputs * inputs for outputs, inputs in setting.shapes.values())
    biases = sum(outputs for outputs, _ in setting.shapes.values())
    return {"count": torch.tensor([float((held > matrices + biases) - (held < matrices))])}


def outcome_of_inputs(
    setting: Setting, student: Any, draw: Any, batch: int, length: int
) -> Weights:
    """x and mask after a call."""
    made = setting.build(student, setting.weights(draw))
    x, mask = draw.normal(batch, length, setting.width), draw.mask(length, length)
    made(x, mask=mask)
    return {"x": x, "mask": mask}


def outcome_of_dtype(
    setting: Setting, student: Any, draw: Any, dtype: torch.dtype, batch: int, length: int
) -> Weights:
    """The dtype that comes out; right answers round at different places."""
    made = setting.build(student, setting.small_weights(draw), dtype=dtype)
    output = setting.output(made, draw.normal(batch, length, setting.width, dtype=dtype))
    return {"output": torch.zeros(1, dtype=output.dtype)}


def outcome_on_meta(setting: Setting, student: Any, draw: Any, batch: int, length: int) -> Weights:
    """Whether the module runs without numbers."""
    made = setting.build(student, setting.weights(draw)).to("meta")
    return {
        "output": setting.output(made, torch.empty(batch, length, setting.width, device="meta"))
    }
