"""Multi-head attention with weights of its own: made, loaded, and the loader looked at first.

A module whose declared parameters hold, by name, what was loaded, was loaded rightly. Any other was
loaded by the student's own ``load_weights`` into places that only the student knows. Then small
questions, to which the answer does not depend on how heads, masks or scales are done, tell whether
what was loaded is what ``forward`` uses; if not, that is said, and no check blames the mathematics.
"""

from typing import NamedTuple

import torch

from grader.suite import CheckFailure, assert_shape

NAMES = ("W_q", "W_k", "W_v", "W_o")
RANKS = {
    "(T, S)": lambda batch, heads: (),
    "(B, T, S)": lambda batch, heads: (batch,),
    "(B, 1, T, S)": lambda batch, heads: (batch, 1),
    "(B, H, T, S)": lambda batch, heads: (batch, heads),
}
"""The axes of a mask before its last two."""


class Inputs(NamedTuple):
    """What is passed to ``forward``."""

    query: torch.Tensor
    key: torch.Tensor
    value: torch.Tensor


class Setting(NamedTuple):
    """A module of one size, how it is made, and what is passed to it."""

    batch: int
    heads: int
    queries: int
    keys: int
    head_width: int

    @property
    def width(self):
        return self.heads * self.head_width

    def weights(self, draw):
        """Random weights that keep the variance of what they project."""
        width = self.width
        return {name: draw.normal(width, width, std=width**-0.5) for name in NAMES}

    def identity(self):
        """Every projection the identity."""
        return {name: torch.eye(self.width) for name in NAMES}

    def showing(self, draw):
        """Random scores; what is mixed are the values themselves, and nothing is done to it."""
        random = self.weights(draw)
        return self.identity() | {"W_q": random["W_q"], "W_k": random["W_k"]}

    def inputs(self, draw, dtype=torch.float32):
        lengths = (self.queries, self.keys, self.keys)
        return Inputs(*(draw.normal(self.batch, n, self.width, dtype=dtype) for n in lengths))

    def mask(self, draw, rank):
        """A random mask with one of the ``RANKS``; every query has a key."""
        return draw.mask(*RANKS[rank](self.batch, self.heads), self.queries, self.keys)

    def build(self, module, weights, **options):
        """The student's or the reference's module, in evaluation, its loader looked at."""
        made = self.load(module, weights, **options)
        if not _holds(made, weights):
            _question_the_loader(self, module)
        return made.eval()

    def loaded(self, module, draw, **options):
        """The student's module with random weights, in evaluation.

        For what holds whatever the weights are, so that a wrong loader costs nothing.
        """
        return self.load(module, self.weights(draw), **options).eval()

    def load(self, module, weights, **options):
        """A module with ``weights``, in training, and nothing asked; biases are zero."""
        made = module.MultiHeadAttention(embed_dim=self.width, num_heads=self.heads, **options)
        made.load_weights(
            {f"{name}.weight": weight for name, weight in weights.items()}
            | {f"{name}.bias": torch.zeros(self.width) for name in weights}
        )
        return made

    def assert_shapes(self, output, shares):
        self.assert_shape_of_output(output)
        self.assert_shape_of_weights(shares)

    def assert_shape_of_output(self, output):
        assert_shape(output, {"B": self.batch, "T": self.queries, "C": self.width}, "output")

    def assert_shape_of_weights(self, shares):
        sizes = {"B": self.batch, "H": self.heads, "T": self.queries, "S": self.keys}
        assert_shape(shares, sizes, "weights")


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


def _question_the_loader(setting, module):
    """Raises CheckFailure if ``load_weights`` and ``forward`` do not mean the same."""
    width = setting.width
    generator = torch.Generator().manual_seed(width)

    def normal(*shape):
        return torch.randn(shape, generator=generator)

    weights = {name: normal(width, width) * width**-0.5 for name in NAMES}
    _require_separate(setting.load(module, weights))

    # With one query and one key the weight is 1: nothing but W_v and W_o is left.
    value = normal(1, 1, width)
    output, _ = setting.load(module, weights).eval()(
        normal(1, 1, width), normal(1, 1, width), value
    )
    assert_shape(output, {"B": 1, "T": 1, "C": width}, "output")
    expected = value @ weights["W_v"].T @ weights["W_o"].T
    if not torch.allclose(output, expected, rtol=1e-3, atol=1e-4):
        raise CheckFailure(
            "The weights that are loaded and the weights that forward uses are not the same ones: "
            "with one query and one key the output has to be W_o(W_v(value)). Look at load_weights "
            "(transposed? another order? biases left?) and at the layers that forward calls."
        )

    # With one head and one query the logarithms of the weights are the scores, up to their scale.
    one_head = setting._replace(heads=1, head_width=width)
    query, keys = normal(1, 1, width), normal(1, 5, width)
    _, shares = one_head.load(module, weights).eval()(query, keys, keys)
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
