"""What the suites of `mqa`, `gqa` and `mla` share: modules of known size, looked into from outside.

These modules do not return their attention weights. They are read from the output: the last
columns of x say which token it is (one 1 each), the value projection passes these columns on and
the output projection is the identity. Then columns hD to hD + S of the output are the weights of
head h.
"""

from __future__ import annotations

from typing import Any

import torch

from grader.suite import SharedChecks, assert_finite, assert_shape

Weights = dict[str, torch.Tensor]
AXES = ("batch", "heads", "queries", "keys")
RANKS = ("(T, S)", "(B, T, S)", "(B, 1, T, S)", "(B, H, T, S)")


class Setting:
    """A module of one size: how it is made, what it computes and how it is looked into."""

    export: str
    options: dict[str, int]
    shapes: dict[str, tuple[int, int]]
    """(out, in) of each declared projection."""
    by_head: tuple[str, ...]
    """Projections whose rows belong to one head each and decide what it attends to."""
    mixed: tuple[str, ...]
    """Projections that the values go through: where one is 0, the output is."""
    scored: tuple[str, ...]
    """Projections that the scores come from: where one is 0, all tokens get the same output."""

    def __init__(self, heads: int, head_width: int) -> None:
        self.heads = heads
        self.head_width = head_width
        self.width = heads * head_width

    def weights(self, draw: Any) -> Weights:
        """Random weights that keep the size of what they project."""
        return {n: draw.normal(o, i, std=i**-0.5) for n, (o, i) in self.shapes.items()}

    def small_weights(self, draw: Any) -> Weights:
        """Random weights at the size that ``nn.Linear`` starts with, exact in bfloat16."""
        return {n: draw.linear(o, i).bfloat16().float() for n, (o, i) in self.shapes.items()}

    def build(
        self, module: Any, weights: Weights, *, dtype: torch.dtype = torch.float32, **options: Any
    ) -> Any:
        """Construct and load the module, in evaluation; biases are zero."""
        made = getattr(module, self.export)(**self.options, **options)
        loaded = {}
        for name, tensor in weights.items():
            loaded[f"{name}.weight"] = tensor
            loaded[f"{name}.bias"] = torch.zeros(tensor.shape[0])
        made.load_weights(loaded)
        if dtype != torch.float32:
            made.to(dtype)
        return made.eval()

    def output(
        self,
        made: Any,
        x: torch.Tensor,
        mask: torch.Tensor | None = None,
        *,
        with_grad: bool = False,
        as_it_lies: bool = False,
    ) -> torch.Tensor:
        """The output (B, T, C), its shape checked.

        Gets copies, lest a module that writes into its inputs spoil the expected result; with
        ``as_it_lies`` it gets ``x`` and ``mask`` themselves.
        """
        batch, length, width = x.shape
        if not as_it_lies:
            x, mask = x.clone(), None if mask is None else mask.clone()
        with torch.set_grad_enabled(with_grad):
            result = made(x) if mask is None else made(x, mask=mask)
        output: torch.Tensor = result[0] if isinstance(result, tuple) else result
        assert_shape(output, [("B", batch), ("T", length), ("C", width)], "output")
        return output

    def tokens(self, draw: Any, batch: int, length: int) -> torch.Tensor:
        """Random x (B, T, C) whose last T columns say which token it is."""
        place = torch.eye(length).expand(batch, length, length)
        return torch.cat([draw.normal(batch, length, self.width - length), place], dim=-1)

    def showing(self, weights: Weights, length: int, *, copies: int = 1) -> Weights:
        """``weights``, changed so that the output is the attention weights.

        Each head shows them ``copies`` times, side by side.
        """
        raise NotImplementedError

    def flat(self, length: int, query_column: int = 0, key_column: int = 1) -> Weights:
        """Weights that show, with every entry of a query, or a key, being one column of x."""
        raise NotImplementedError

    def itself(self, weights: Weights, length: int) -> Weights:
        """``weights``, changed so that each token of ``tokens`` attends to itself alone."""
        raise NotImplementedError

    def plain(
        self, x: torch.Tensor, weights: Weights, mask: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        """Output and attention weights in float64, by the plain formulas."""
        raise NotImplementedError

    def seen(self, output: torch.Tensor, *, copy: int = 0) -> torch.Tensor:
        """The attention weights (B, H, T, S) in the output of a module that shows them."""
        length = output.shape[1]
        shown = output.unflatten(-1, (self.heads, self.head_width))
        return shown[..., copy * length : (copy + 1) * length].transpose(1, 2)

    def read(self, made: Any, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """The attention weights (B, H, T, S) of a module that shows them; all finite."""
        output = self.output(made, x, mask)
        assert_finite(output, "output")
        return self.seen(output)

    def _heads_apart(self, tensor: torch.Tensor, heads: int | None = None) -> torch.Tensor:
        return tensor.unflatten(-1, (heads or self.heads, self.head_width)).transpose(1, 2)

    def _mix(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: torch.Tensor | None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        scores = query @ key.transpose(-2, -1) * self.head_width**-0.5
        if mask is not None:
            scores = torch.where(lifted(mask), scores, -torch.inf)
        shares = scores.softmax(-1)
        return (shares @ value).transpose(1, 2).flatten(2), shares


class Grouped(Setting):
    """Multi-query attention (no ``groups``) or grouped-query attention."""

    by_head = ("W_q",)
    mixed = ("W_v", "W_o")
    scored = ("W_q", "W_k")

    def __init__(self, heads: int, head_width: int, groups: int | None = None) -> None:
        super().__init__(heads, head_width)
        self.options = {"embed_dim": self.width, "num_heads": heads}
        self.export = "MultiQueryAttention"
        if groups is not None:
            self.options["num_kv_groups"] = groups
            self.export = "GroupedQueryAttention"
        self.groups = groups or 1
        self.group_of = [head // (heads // self.groups) for head in range(heads)]
        square, narrow = (self.width, self.width), (self.groups * head_width, self.width)
        self.shapes = {"W_q": square, "W_k": narrow, "W_v": narrow, "W_o": square}

    def showing(self, weights: Weights, length: int, *, copies: int = 1) -> Weights:
        value = torch.zeros(self.groups, self.head_width, self.width)
        for copy in range(copies):
            value[:, copy * length : (copy + 1) * length, -length:] = torch.eye(length)
        return {**weights, "W_v": value.flatten(0, 1), "W_o": torch.eye(self.width)}

    def flat(self, length: int, query_column: int = 0, key_column: int = 1) -> Weights:
        weights = {name: torch.zeros(shape) for name, shape in self.shapes.items()}
        weights["W_q"][:, query_column] = 1.0
        weights["W_k"][:, key_column] = 1.0
        return self.showing(weights, length)

    def itself(self, weights: Weights, length: int) -> Weights:
        query = torch.zeros(self.heads, self.head_width, self.width)
        query[:, :length, -length:] = 100.0 * torch.eye(length)
        key = torch.zeros(self.groups, self.head_width, self.width)
        key[:, :length, -length:] = 100.0 * torch.eye(length)
        return {**weights, "W_q": query.flatten(0, 1), "W_k": key.flatten(0, 1)}

    def plain(
        self, x: torch.Tensor, weights: Weights, mask: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        x, w = x.double(), {name: tensor.double().T for name, tensor in weights.items()}
        query = self._heads_apart(x @ w["W_q"])
        key = self._heads_apart(x @ w["W_k"], self.groups)[:, self.group_of]
        value = self._heads_apart(x @ w["W_v"], self.groups)[:, self.group_of]
        mixed, shares = self._mix(query, key, value, mask)
        return mixed @ w["W_o"], shares


class Latent(Setting):
    """Multi-head latent attention."""

    export = "MultiHeadLatentAttention"
    by_head = ("W_UQ", "W_UK")
    mixed = ("W_DKV", "W_UV", "W_o")
    scored = ("W_DQ", "W_UQ", "W_UK")

    def __init__(self, heads: int, head_width: int, q_latent: int, kv_latent: int) -> None:
        super().__init__(heads, head_width)
        self.q_latent, self.kv_latent = q_latent, kv_latent
        self.options = {
            "embed_dim": self.width,
            "num_heads": heads,
            "q_latent_dim": q_latent,
            "kv_latent_dim": kv_latent,
        }
        self.shapes = {
            "W_DQ": (q_latent, self.width),
            "W_UQ": (self.width, q_latent),
            "W_DKV": (kv_latent, self.width),
            "W_UK": (self.width, kv_latent),
            "W_UV": (self.width, kv_latent),
            "W_o": (self.width, self.width),
        }

    def showing(self, weights: Weights, length: int, *, copies: int = 1) -> Weights:
        down = weights["W_DKV"].clone()
        down[-length:] = 0.0
        down[-length:, -length:] = torch.eye(length)
        up = torch.zeros(self.heads, self.head_width, self.kv_latent)
        for copy in range(copies):
            up[:, copy * length : (copy + 1) * length, -length:] = torch.eye(length)
        shown = {"W_DKV": down, "W_UV": up.flatten(0, 1), "W_o": torch.eye(self.width)}
        return {**weights, **shown}

    def flat(self, length: int, query_column: int = 0, key_column: int = 1) -> Weights:
        weights = {name: torch.zeros(shape) for name, shape in self.shapes.items()}
        weights["W_DQ"][0, query_column] = 1.0
        weights["W_UQ"][:, 0] = 1.0
        weights["W_DKV"][0, key_column] = 1.0
        weights["W_UK"][:, 0] = 1.0
        return self.showing(weights, length)

    def itself(self, weights: Weights, length: int) -> Weights:
        changed = dict(weights)
        for down, up in (("W_DQ", "W_UQ"), ("W_DKV", "W_UK")):
            changed[down] = weights[down].clone()
            changed[down][-length:] = 0.0
            changed[down][-length:, -length:] = torch.eye(length)
            heads = torch.zeros(self.heads, self.head_width, self.shapes[down][0])
            heads[:, :length, -length:] = 100.0 * torch.eye(length)
            changed[up] = heads.flatten(0, 1)
        return changed

    def plain(
        self, x: torch.Tensor, weights: Weights, mask: torch.Tensor | None = None
    ) -> tuple[torch.Tensor, torch.Tensor]:
        x, w = x.double(), {name: tensor.double().T for name, tensor in weights.items()}
        latent = x @ w["W_DKV"]
        query = self._heads_apart(x @ w["W_DQ"] @ w["W_UQ"])
        key, value = self._heads_apart(latent @ w["W_UK"]), self._heads_apart(latent @ w["W_UV"])
        mixed, shares = self._mix(query, key, value, mask)
        return mixed @ w["W_o"], shares


def mask_of_rank(draw: Any, rank: str, batch: int, heads: int, length: int) -> torch.Tensor:
    """A random mask with one of the ``RANKS``; every query has a key."""
    axes = {"B": batch, "H": heads, "T": length, "S": length, "1": 1}
    mask: torch.Tensor = draw.mask(*(axes[axis] for axis in rank.strip("()").split(", ")))
    return mask


def lifted(mask: torch.Tensor) -> torch.Tensor:
    """``mask`` with an axis for the heads where it has one for the batch alone."""
    return mask.unsqueeze(1) if mask.dim() == 3 else mask


def undone_by_mask(output: torch.Tensor, mask: torch.Tensor | None) -> bool:
    """Whether a mask has made NaN or infinity, which the checks of masks are there for.

    Where a student's output is compared with another one of theirs, that costs no more points.
    """
    return mask is not None and not bool(output.isfinite().all())


class LayerChecks(SharedChecks):
    """Checks of one kind of layer, by its settings; a suite says which."""

    usual: tuple[Setting, int, int]
    """The setting of most checks, the items of a batch, and the length; all sizes distinct."""
    wide: tuple[Setting, int, int]
    """The same, with a head so wide that it shows the weights of all tokens twice."""
    small: list[tuple[Setting, int, int]]
    """The same, each with something of size 1."""
    sizes: tuple[dict[str, Any], ...]
    """What most probes are run with: ``setting``, ``batch``, ``length``."""
    square_sizes: tuple[dict[str, Any], ...]
    """``setting`` and ``length`` for a batch of as many items as there are heads."""
    wide_sizes: tuple[dict[str, Any], ...]
    """The same as ``wide``, for a probe."""
    constructions: tuple[dict[str, int], ...]
    """Sizes to construct with, allowed and not."""

    def wrong_divisors(self, setting: Any) -> dict[str, float]:
        """What scores might be divided by instead of the root of the head width, in words."""
        return {
            "with the root of embed_dim": setting.width**0.5,
            "with the root of the number of heads": setting.heads**0.5,
        }
