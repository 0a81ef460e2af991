"""Checks of what a layer holds: its declared matrices, loaded and trained."""

import torch
from support_layers import LayerChecks

from grader.suite import CheckFailure, assert_close, check


class ParameterChecks(LayerChecks):
    """Checks of what a layer holds: its declared matrices, loaded and trained."""

    @check(
        "parameters",
        points=2,
        title="Weights that are loaded are the weights that are used",
        hint="If you wrote load_weights: does each name reach the right place, whole?",
    )
    def test_loading(self, student, draw):
        setting, batch, length = self.usual
        weights = setting.weights(draw)
        x = draw.normal(batch, length, setting.width)

        def output_with(name: str, matrix: torch.Tensor) -> torch.Tensor:
            return setting.output(setting.build(student, {**weights, name: matrix}), x)

        before = output_with("W_o", weights["W_o"])
        for name, matrix in weights.items():
            if torch.allclose(output_with(name, draw.normal(*matrix.shape)), before, atol=1e-5):
                raise CheckFailure(
                    f"Another {name} gives the same output: either it is not used, or loading does "
                    "not reach it."
                )
        for name in (*setting.mixed, *setting.scored):
            output = output_with(name, torch.zeros_like(weights[name]))
            wanted = (
                torch.zeros_like(output) if name in setting.mixed else output[:, :1].expand_as(x)
            )
            due = "the output has" if name in setting.mixed else "the outputs of all tokens have"
            what = "zero" if name in setting.mixed else "equal"
            assert_close(
                output,
                wanted,
                "output",
                message=f"With {name} all zero {due} to be {what}; something gets past it in "
                "yours, or load_weights puts it in another place.",
            )

    @check(
        "parameters",
        points=1,
        title="The parameters hold one key and one value head, and H query heads",
        hint="How many numbers does W_k hold if all heads share one key head?",
    )
    def test_number_of_parameters(self, student, draw, setting):
        made = setting.build(student, setting.weights(draw))
        held = sum(parameter.numel() for parameter in made.parameters())
        matrices = sum(outputs * inputs for outputs, inputs in setting.shapes.values())
        biases = sum(outputs for outputs, _ in setting.shapes.values())
        detail = f"{held} numbers; expected {matrices}, and up to {biases} more for biases"
        if held == 0:
            raise CheckFailure(
                "Your module has no registered parameters: nothing can train.", detail
            )
        if held < matrices:
            raise CheckFailure(
                "Your module's parameters hold fewer numbers than the handout's matrices do: "
                "one is too narrow, shared with another, or not registered.",
                detail,
            )
        if held > matrices + biases:
            raise CheckFailure(
                "Your module's parameters hold more numbers than the handout's matrices do: one is "
                "too wide, or there is one too many.",
                detail,
            )

    @check(
        "parameters",
        points=2,
        title="Every weight is trained: gradients reach all of W_q, W_k, W_v and W_o",
        hint="Is a parameter kept where PyTorch does not look, left out of forward, or detached?",
    )
    def test_every_weight_is_trained(self, student, draw):
        self.assert_all_trained(student, draw, self.usual[0])

    def assert_all_trained(self, student, draw, setting):
        """Every part of every matrix gets a gradient."""
        _, batch, length = self.usual
        made = setting.build(student, setting.weights(draw))
        output = setting.output(made, draw.normal(batch, length, setting.width), with_grad=True)
        if not output.requires_grad:
            raise CheckFailure(
                "No gradient can flow back from your output to any parameter: it is cut off, "
                "or nothing is registered."
            )
        (output * draw.normal(*output.shape)).sum().backward()
        for name, parameter in made.named_parameters():
            known = name.removesuffix(".weight") in setting.shapes
            words = name.removesuffix(".weight") if known else "A parameter"
            if parameter.grad is None:
                if name.endswith("bias"):
                    continue
                raise CheckFailure(f"{words} gets no gradient: it is not used, or cut off.")
            # A key's bias gets a gradient of 0; no bias of heads has more numbers than x columns.
            if parameter.dim() < 2 or parameter.numel() <= setting.width:
                continue
            if _has_empty_slice(parameter.grad):
                raise CheckFailure(
                    f"{words} gets no gradient in some of its rows or columns: a part of it is "
                    "not used, or cut off."
                )


def _has_empty_slice(gradient: torch.Tensor) -> bool:
    """Whether all is 0 at some place of some axis."""
    axes = range(gradient.dim())
    return any(bool((gradient == 0).transpose(0, axis).flatten(1).all(1).any()) for axis in axes)
