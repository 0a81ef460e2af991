"""Multi-head attention with weights of its own: made, loaded, and the loader looked at first.

A module whose declared parameters hold, by name, what was loaded, was loaded rightly. Any other was
loaded by the student's own ``load_weights`` into places that only the student knows. Then small
questions, to which the answer does not depend on how heads, masks or scales are done, tell whether
what was loaded is what ``forward`` uses; if not, that is said, and no check blames the mathematics.
"""

import torch

from grader.suite import CheckFailure, assert_shape

NAMES = ("W_q", "W_k", "W_v", "W_o")


def random_weights(draw, width):
    """Weights that keep the variance of what they project."""
    return {name: draw.normal(width, width, std=width**-0.5) for name in NAMES}


def identity_weights(width):
    """Every projection the identity."""
    return {name: torch.eye(width) for name in NAMES}


def build(module, weights, *, heads, dropout=None):
    """The student's or the reference's module with ``weights``, in evaluation; biases are zero."""
    made = load(module, weights, heads, dropout)
    if not _holds(made, weights):
        _question_the_loader(module, weights["W_q"].shape[0], heads)
    return made.eval()


def load(module, weights, heads, dropout=None):
    """As ``build``, but in training, and asking nothing."""
    options = {} if dropout is None else {"dropout": dropout}
    width = weights["W_q"].shape[0]
    made = module.MultiHeadAttention(embed_dim=width, num_heads=heads, **options)
    made.load_weights(
        {f"{name}.weight": weight for name, weight in weights.items()}
        | {f"{name}.bias": torch.zeros(width) for name in weights}
    )
    return made


def _holds(made, weights):
    """Whether the parameters that carry the declared names have the values that were loaded."""
    there = dict(made.named_parameters(remove_duplicate=False))
    for name, weight in weights.items():
        held, bias = there.get(f"{name}.weight"), there.get(f"{name}.bias")
        if held is None or held.shape != weight.shape or not torch.equal(held.detach(), weight):
            return False
        if bias is not None and bool((bias != 0).any()):
            return False
    return True


def _question_the_loader(module, width, heads):
    """Raises CheckFailure if ``load_weights`` and ``forward`` do not mean the same."""
    generator = torch.Generator().manual_seed(width)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    weights = {name: normal(width, width) * width**-0.5 for name in NAMES}
    _require_separate(load(module, weights, heads))

    # With one query and one key the weight is 1: nothing but W_v and W_o is left.
    value = normal(1, 1, width)
    output, _ = load(module, weights, heads).eval()(normal(1, 1, width), normal(1, 1, width), value)
    assert_shape(output, {"B": 1, "T": 1, "C": width}, "output")
    expected = value @ weights["W_v"].T @ weights["W_o"].T
    if not torch.allclose(output, expected, rtol=1e-3, atol=1e-4):
        raise CheckFailure(
            "The weights that are loaded and the weights that forward uses are not the same ones: "
            "with one query and one key the output has to be W_o(W_v(value)). Look at load_weights "
            "(transposed? another order? biases left?) and at the layers that forward calls."
        )

    # With one head and one query the logarithms of the weights are the scores, up to their scale.
    query, keys = normal(1, 1, width), normal(1, 5, width)
    _, shares = load(module, weights, 1).eval()(query, keys, keys)
    assert_shape(shares, {"B": 1, "H": 1, "T": 1, "S": 5}, "weights")
    if not bool((shares > 0).all()):
        return
    logs = shares.detach().double().log().flatten()
    scores = (keys @ weights["W_k"].T @ (query @ weights["W_q"].T).mT).double().flatten()
    logs, scores = logs - logs.mean(), scores - scores.mean()
    if float(logs.norm()) < 1e-4:
        return
    cosine = float((logs * scores).sum() / (logs.norm() * scores.norm()))
    if abs(cosine) < 0.99:
        raise CheckFailure(
            "The weights that are loaded and the weights that forward uses are not the same ones: "
            "W_q and W_k do not lead to the scores that they should. Look at load_weights "
            "(transposed? another order? biases left?) and at the layers that forward calls."
        )


def _require_separate(made):
    """Raises CheckFailure where two declared names stand for one parameter."""
    there = dict(made.named_parameters(remove_duplicate=False))
    held = [id(there[f"{name}.weight"]) for name in NAMES if f"{name}.weight" in there]
    if len(set(held)) < len(held):
        raise CheckFailure(
            "Two of your projections are one and the same layer: W_q, W_k, W_v and W_o each need "
            "weights of their own."
        )
