"""Probes: what tells one misconception from another."""

import torch
from support_layers import RANKS, LayerChecks, mask_of_rank

from grader.suite import CheckFailure, probe


class LayerProbes(LayerChecks):
    """Probes of a layer whose weights are read from the output."""

    @probe(lambda suite: suite.sizes)
    def probe_unmasked(self, student, draw, setting, batch, length):
        return outcome(setting, student, draw, draw.normal(batch, length, setting.width))

    @probe(lambda suite: [{**sizes, "rank": rank} for rank in RANKS for sizes in suite.sizes])
    def probe_masked(self, student, draw, setting, batch, length, rank):
        mask = mask_of_rank(draw, rank, batch, setting.heads, length)
        return outcome(setting, student, draw, draw.normal(batch, length, setting.width), mask)

    @probe(lambda suite: suite.square_sizes)
    def probe_batch_equals_heads(self, student, draw, setting, length):
        batch = setting.heads
        mask = mask_of_rank(draw, "(B, T, S)", batch, batch, length)
        return outcome(setting, student, draw, draw.normal(batch, length, setting.width), mask)

    @probe(lambda suite: suite.sizes)
    def probe_calls_in_a_row(self, student, draw, setting, batch, length):
        """Called in training under a causal mask, then without one, then in evaluation."""
        made = setting.build(student, setting.weights(draw)).train()
        x = draw.normal(batch, length, setting.width)
        causal = torch.ones(length, length, dtype=torch.bool).tril()
        return {
            "training, masked": setting.output(made, x, causal),
            "training": setting.output(made, x),
            "evaluation, masked": setting.output(made.eval(), x, causal),
        }

    @probe(lambda suite: suite.sizes)
    def probe_allowed_scores_are_low(self, student, draw, setting, batch, length):
        x = draw.normal(batch, length, setting.width)
        x[:, 1:] *= 3e3
        mask = torch.eye(length, dtype=torch.bool).roll(1, 0) | torch.eye(length, dtype=torch.bool)
        return outcome(setting, student, draw, x, mask)

    @probe(lambda suite: suite.sizes)
    def probe_large(self, student, draw, setting, batch, length):
        return outcome(setting, student, draw, 30 * draw.normal(batch, length, setting.width))

    @probe(lambda suite: suite.sizes)
    def probe_gradients(self, student, draw, setting, batch, length):
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

    @probe(lambda suite: suite.wide_sizes)
    def probe_dropout(self, student, draw, setting, batch, length):
        """What training does to the weights, in answers of yes (1) and no (0)."""
        rate = 0.25
        weights = setting.showing(setting.weights(draw), length, copies=2)
        x = setting.tokens(draw, batch, length)
        made = setting.build(student, weights, dropout=rate)
        still = setting.output(made, x)
        repeated = bool(torch.allclose(setting.output(made, x), still, atol=1e-6))
        latents = [_latent(made, x), _latent(made.train(), x)]
        outputs = [setting.output(made, x) for _ in range(8)]
        first = torch.stack([setting.seen(output) for output in outputs])
        second = torch.stack([setting.seen(output, copy=1) for output in outputs])
        alive = first.abs() >= 1e-12
        ratios = (first / setting.seen(still))[alive]
        default = setting.build(student, weights).train()
        projected = setting.build(
            student, {**weights, "W_o": setting.weights(draw)["W_o"]}, dropout=rate
        )
        mixed = setting.output(projected.train(), x)
        answers = {
            "evaluation repeats": repeated,
            "training repeats": all(torch.equal(output, outputs[0]) for output in outputs),
            "training equals evaluation": torch.allclose(outputs[0], still, atol=1e-6),
            "copies agree": torch.allclose(first, second, atol=1e-6),
            "some are zero": not bool(alive.all()),
            "most are zero": float(alive.double().mean()) < 0.5,
            "whole columns are zero": torch.equal(alive, alive[..., :1, :].expand_as(alive)),
            "output is dropped": bool((mixed.abs() < 1e-12).any()),
            "latent is dropped": not torch.allclose(*latents, atol=1e-6),
            "survivors as they were": bool(((ratios - 1).abs() < 1e-3).all()),
            "survivors scaled": bool(((ratios - 1 / (1 - rate)).abs() < 1e-3).all()),
            "none by default": torch.allclose(setting.output(default, x), still, atol=1e-6),
        }
        return {"answers": torch.tensor([float(answer) for answer in answers.values()])}

    @probe(lambda suite: suite.constructions)
    def probe_construction(self, student, draw, **options):
        """Whether the constructor accepts these sizes."""
        setting, _, _ = self.usual
        try:
            getattr(student, setting.export)(**{**setting.options, **options})
        except CheckFailure:
            raise
        except (ValueError, AssertionError):
            return {"accepted": torch.zeros(1)}
        return {"accepted": torch.ones(1)}

    @probe(lambda suite: suite.sizes)
    def probe_count(self, student, draw, setting, batch, length):
        """By how many numbers the matrices exceed the declared ones; and that it runs."""
        made = getattr(student, setting.export)(**setting.options)
        output = setting.output(made, draw.normal(2, 3, setting.width))
        held = sum(p.numel() for p in made.parameters() if p.dim() > 1)
        matrices = sum(outputs * inputs for outputs, inputs in setting.shapes.values())
        return {"count": torch.tensor([float(held - matrices)]), "shape": torch.zeros(output.shape)}

    @probe(lambda suite: suite.sizes)
    def probe_inputs_afterwards(self, student, draw, setting, batch, length):
        """x and mask after a call."""
        made = setting.build(student, setting.weights(draw))
        x, mask = draw.normal(batch, length, setting.width), draw.mask(length, length)
        made(x, mask=mask)
        return {"x": x, "mask": mask}

    @probe(
        lambda suite: [
            {**sizes, "dtype": dtype}
            for sizes in suite.sizes
            for dtype in (torch.float64, torch.bfloat16)
        ]
    )
    def probe_dtype(self, student, draw, setting, batch, length, dtype):
        """The dtype that comes out; right answers round at different places."""
        made = setting.build(student, setting.small_weights(draw), dtype=dtype)
        output = setting.output(made, draw.normal(batch, length, setting.width, dtype=dtype))
        return {"output": torch.zeros(1, dtype=output.dtype)}

    @probe(lambda suite: suite.sizes)
    def probe_meta(self, student, draw, setting, batch, length):
        """Whether the module runs without numbers."""
        made = setting.build(student, setting.weights(draw)).to("meta")
        return {
            "output": setting.output(made, torch.empty(batch, length, setting.width, device="meta"))
        }

    @probe(lambda suite: suite.sizes)
    def probe_not_contiguous(self, student, draw, setting, batch, length):
        x = draw.normal(length, setting.width, batch).permute(2, 0, 1)
        return outcome(setting, student, draw, x)

    @probe({"batch": 1, "length": 3}, {"batch": 2, "length": 1})
    def probe_axes_of_size_one(self, student, draw, batch, length):
        setting, _, _ = self.usual
        return outcome(setting, student, draw, draw.normal(batch, length, setting.width))


def outcome(setting, student, draw, x, mask=None):
    """All that the module returns for ``x``, by number."""
    made = setting.build(student, setting.weights(draw))
    result = made(x) if mask is None else made(x, mask=mask)
    results = result if isinstance(result, tuple) else (result,)
    return {f"result {number}": tensor for number, tensor in enumerate(results)}


def _latent(made, x):
    """What the module returns beside its output, if anything."""
    with torch.no_grad():
        result = made(x)
    return result[1] if isinstance(result, tuple) else torch.zeros(1)
