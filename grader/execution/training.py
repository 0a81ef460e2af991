"""Training a language model where it lives: the loss and the optimiser are the grader's."""

from __future__ import annotations

import torch

MOMENTS = (0.9, 0.99)
EPSILON = 1e-8


def fit(model: torch.nn.Module, batches: torch.Tensor, *, learning_rate: float) -> list[float]:
    """Train ``model`` to predict each next token; returns the loss of each step, in nats.

    ``batches`` (steps, B, T + 1) holds tokens, one batch a step: the model is called with the first
    T of them and has to give logits (B, T, vocabulary) for the last T. The loss is their mean cross
    entropy, the optimiser Adam (Kingma and Ba 2015, algorithm 1), with a rate that falls evenly
    from ``learning_rate`` towards 0. Whether the model trains or evaluates is left as it is.
    """
    adam = _Adam([parameter for parameter in model.parameters() if parameter.requires_grad])
    losses = []
    for step, batch in enumerate(batches):
        with torch.enable_grad():
            logits = model(batch[:, :-1])
            loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())
        adam.step(loss, learning_rate * (1 - step / len(batches)))
        losses.append(loss.item())
    return losses


class _Adam:
    """Adam; ``torch.optim`` would import torch's compiler first, a second and more in a worker."""

    def __init__(self, parameters: list[torch.nn.Parameter]) -> None:
        self._parameters = parameters
        self._means = [torch.zeros_like(parameter) for parameter in parameters]
        self._squares = [torch.zeros_like(parameter) for parameter in parameters]
        self._steps = 0

    def step(self, loss: torch.Tensor, rate: float) -> None:
        """Move every parameter once against its gradient; one that has none stays."""
        gradients = torch.autograd.grad(loss, self._parameters, allow_unused=True)
        self._steps += 1
        first, second = MOMENTS
        unbiased_mean, unbiased_square = 1 - first**self._steps, 1 - second**self._steps
        with torch.no_grad():
            for parameter, gradient, mean, square in zip(
                self._parameters, gradients, self._means, self._squares, strict=True
            ):
                if gradient is None:
                    continue
                mean.lerp_(gradient, 1 - first)
                square.lerp_(gradient * gradient, 1 - second)
                spread = (square / unbiased_square).sqrt() + EPSILON
                parameter.sub_(rate * (mean / unbiased_mean) / spread)
