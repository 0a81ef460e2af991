"""Probes of `transformer`: blocks and models with known weights, and how they answer.

Students choose norms and activations. What the probes ask is chosen so that the usual ones give
equal numbers: rows that any norm leaves as they are, and hidden numbers so large that ReLU, GELU
and SiLU agree.
"""

from __future__ import annotations

from typing import Any

import torch
from support_transformer import (
    attention_weights,
    blocks_of,
    parameters,
    set_attention,
    silenced,
    standardised,
)

from grader.suite import CheckFailure

Results = dict[str, torch.Tensor]
PARTS = ("norm1", "attention", "norm2", "ffn")
LARGE = 1e4


class Probe:
    """Modules of one size with known weights."""

    def __init__(self, module: Any, draw: Any, sizes: dict[str, int]) -> None:
        self._module = module
        self._draw = draw
        self.batch, self.length = sizes["batch"], sizes["length"]
        self.width = sizes["heads"] * sizes["head_width"]
        self.hidden, self.vocabulary = sizes["hidden"], sizes["vocabulary"]
        self.layers = sizes["layers"]
        self.block_options = {
            "embed_dim": self.width,
            "num_heads": sizes["heads"],
            "ffn_dim": self.hidden,
        }
        self.model_options = {
            **self.block_options,
            "vocab_size": self.vocabulary,
            "num_layers": self.layers,
            "max_length": self.length + 2,
        }
        shape = (self.batch, self.length)
        scale = draw.normal(*shape, 1).abs() + 2.0
        self.x = standardised(draw.normal(*shape, self.width)) * scale
        self.mask = draw.mask(self.length, self.length)
        self.tokens = (draw.normal(*shape) * 1000).long() % self.vocabulary

    def block(self, **options: Any) -> Any:
        """A block, in evaluation."""
        block = self._module.TransformerBlock(**self.block_options, **options)
        self._set_block(block, "")
        return block.eval()

    def model(self, **options: Any) -> Any:
        """A model, in evaluation."""
        model = self._module.TransformerLM(**self.model_options, **options)
        for name in blocks_of(model, self.layers):
            self._set_block(model, f"{name}.")
        self._set_norm(model, "norm")
        with torch.no_grad():
            for part, rows in (
                ("token_embedding", self.vocabulary),
                ("position_embedding", self.length + 2),
                ("head", self.vocabulary),
            ):
                drawn = self._draw.normal(rows, self.width)
                for parameter in parameters(model, part).values():
                    if parameter.numel() == drawn.numel():
                        parameter.copy_(drawn.view_as(parameter))
                    else:
                        parameter.zero_()
        return model.eval()

    def bare_model(self) -> Any:
        """A model as it is constructed, in evaluation."""
        return self._module.TransformerLM(**self.model_options).eval()

    def accepts(self, **sizes: int) -> bool:
        """Whether a block can be made with these sizes in the place of the usual ones."""
        return not _fails(lambda: self._module.TransformerBlock(**{**self.block_options, **sizes}))

    def _set_block(self, module: Any, prefix: str) -> None:
        for norm in ("norm1", "norm2"):
            self._set_norm(module, prefix + norm)
        set_attention(module, f"{prefix}attention", attention_weights(self._draw, self.width))
        shapes = {(self.hidden, self.width): LARGE, (self.width, self.hidden): 1 / LARGE}
        with torch.no_grad():
            for parameter in parameters(module, f"{prefix}ffn").values():
                factor = shapes.get(tuple(parameter.shape), 0.0)
                drawn = self._draw.normal(*parameter.shape, std=parameter.shape[-1] ** -0.5)
                parameter.copy_(drawn * factor)

    def _set_norm(self, module: Any, norm: str) -> None:
        weight = self._draw.normal(self.width).abs() + 0.5
        with torch.no_grad():
            for name, parameter in parameters(module, norm).items():
                parameter.copy_(weight * (not name.endswith(("bias", "beta"))))


@torch.no_grad()
def numbers_of_a_block(probe: Probe) -> Results:
    """What a block gives with a mask."""
    return {"masked": probe.block()(probe.x, mask=probe.mask)}


@torch.no_grad()
def numbers_of_attention(probe: Probe) -> Results:
    """What a block gives with ffn silent: with a mask, causal, on less, and in training."""
    block = probe.block()
    with silenced(block, "ffn"):
        found = {"masked": block(probe.x, mask=probe.mask), "causal": _filled(block, probe.x)}
        found["shorter"] = _filled(block, probe.x[:, :-1])
        block.train()
        first, second = _filled(block, probe.x), _filled(block, probe.x)
        return {**found, "training": first if torch.equal(first, second) else torch.zeros(1)}


def _filled(block: Any, x: torch.Tensor) -> torch.Tensor:
    """The output, with x where there is NaN.

    A token that may see nothing gets NaN from one way to compute attention and nothing from
    another; it should not matter which of them a student's mistake has met.
    """
    result: torch.Tensor = block(x)
    if result.shape != x.shape:
        return result
    return torch.where(result.isnan(), x, result)


@torch.no_grad()
def _somebody_sees_nothing(probe: Probe) -> bool:
    """Whether a causal block adds nothing to some token, or NaN."""
    block = probe.block()
    with silenced(block, "ffn"):
        added = _filled(block, probe.x) - probe.x
    return bool((added.abs().amax(-1) < 1e-6).any())


@torch.no_grad()
def numbers_of_a_model(probe: Probe) -> Results:
    """A model's logits."""
    if _somebody_sees_nothing(probe):
        return {}
    return {"logits": probe.model()(probe.tokens)}


def gradients(probe: Probe) -> Results:
    """The gradient of x, and which parts get one."""
    block = probe.block()
    x = probe.x.clone().requires_grad_()
    result = block(x, mask=probe.mask)
    if not result.requires_grad:
        raise CheckFailure("no gradient")
    (gradient,) = torch.autograd.grad(result.sum() + (result * result).sum() / 100, x)
    if _somebody_sees_nothing(probe):
        return {"x": gradient}
    model = probe.model()
    (model(probe.tokens) ** 2).sum().backward()
    trained: dict[str, float] = {}
    for name, parameter in model.named_parameters():
        pieces = name.split(".")
        part = next((p for p in PARTS if p in pieces), pieces[0])
        key = f"{part} {pieces[1] if pieces[0] == 'blocks' else ''}"
        there = parameter.grad is not None and bool((parameter.grad != 0).any())
        trained[key] = max(trained.get(key, 0.0), float(there))
    return {"x": gradient, "trained": torch.tensor([trained[key] for key in sorted(trained)])}


@torch.no_grad()
def dropout(probe: Probe) -> Results:
    """What training does, in answers of yes (1) and no (0)."""
    block, still = probe.block(dropout=0.5), probe.block().train()
    answers = {"evaluation repeats": _repeats(block, probe.x, probe.mask)}
    block.train()
    answers["a block drops in training"] = not _repeats(block, probe.x, probe.mask)
    answers["nothing is dropped by default"] = _repeats(still, probe.x, probe.mask)
    with silenced(block, "attention", "ffn"):
        silent = block(probe.x, mask=probe.mask)
    answers["x itself is dropped"] = bool((silent == 0).any())
    if not _somebody_sees_nothing(probe):
        model = probe.model(dropout=0.5).train()
        answers["a model drops in training"] = not _repeats(model, probe.tokens)
    return _answers(answers)


@torch.no_grad()
def arguments_after_a_call(probe: Probe) -> Results:
    """x and mask after they were used."""
    probe.block()(probe.x, mask=probe.mask)
    return {"x": probe.x, "mask": probe.mask}


@torch.no_grad()
def lengths(probe: Probe) -> Results:
    """What becomes of the longest text and of a text that is too long."""
    model = probe.model()
    longest = probe.tokens[:, :1].expand(-1, probe.length + 2)
    answers = {"the longest is fine": _fails(lambda: model(longest)) == ""}
    too_long = torch.cat([longest, probe.tokens[:, :1]], dim=1)
    error = _fails(lambda: model(too_long))
    answers |= {"too long is fine": error == "", "too long is ValueError": error == "ValueError"}
    answers["uneven is fine"] = probe.accepts(num_heads=probe.width - 1)
    return _answers(answers)


@torch.no_grad()
def holdings(probe: Probe) -> Results:
    """What a model holds, before a call and after."""
    model = probe.bare_model()
    held = dict(model.named_parameters(remove_duplicate=False))
    distinct = len({id(parameter) for parameter in held.values()})
    blocks = {name.split(".")[1] for name in held if name.startswith("blocks.")}
    positions = sum(p.numel() for n, p in held.items() if n.startswith("position_embedding"))
    widths = {size for parameter in held.values() for size in parameter.shape}
    model(probe.tokens)
    answers = {
        # A head tied to the token embedding shares one parameter on purpose.
        "shared": distinct < len(held) - 1,
        "as wide as said": bool(widths & {probe.hidden, 2 * probe.hidden}),
        "has a head": any(name.startswith("head") for name in held),
    }
    counts = torch.tensor([float(positions), float(len(blocks))])
    return {**_answers(answers), "counts": counts}


@torch.no_grad()
def dtypes(probe: Probe) -> Results:
    """The dtype that comes out; right answers round at different places."""
    block = probe.block().to(torch.float64)
    return {"output": torch.zeros(1, dtype=block(probe.x.double(), mask=probe.mask).dtype)}


def _repeats(module: Any, argument: torch.Tensor, mask: torch.Tensor | None = None) -> bool:
    first, second = (
        module(argument) if mask is None else module(argument, mask=mask) for _ in range(2)
    )
    return torch.equal(first, second)


def _fails(action: Any) -> str:
    """The built-in type of the error that ``action`` ends with; empty if it ends well."""
    try:
        action()
    except CheckFailure:
        raise
    except Exception as error:
        names = [base.__name__ for base in type(error).__mro__ if base.__module__ == "builtins"]
        return names[0]
    return ""


def _answers(answers: dict[str, bool]) -> Results:
    return {"answers": torch.tensor([float(answer) for answer in answers.values()])}
