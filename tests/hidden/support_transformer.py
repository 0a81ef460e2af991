"""What the suite of `transformer` looks into blocks and language models with.

Students choose how attention, the feed-forward network and the norms compute; so most properties
are read from the outside, by setting parameters to zero and by asking what depends on what.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import torch

from grader.suite import CheckFailure, assert_finite, assert_shape

B, LAYERS, H, D, T, MAX_LENGTH, V, F = 2, 3, 4, 5, 6, 9, 13, 28
C = H * D
BLOCK = {"embed_dim": C, "num_heads": H, "ffn_dim": F}
MODEL = {
    "vocab_size": V,
    "embed_dim": C,
    "num_heads": H,
    "num_layers": LAYERS,
    "ffn_dim": F,
    "max_length": MAX_LENGTH,
}
BLOCK_PARTS = ("norm1", "attention", "norm2", "ffn")
MODEL_PARTS = ("token_embedding", "position_embedding", "blocks", "norm", "head")
INVERTED = (
    "Your mask is turned round: a token sees exactly what it may not see. In this course True "
    "means allowed; a boolean attn_mask of nn.MultiheadAttention says True for what is blocked."
)

Parameters = dict[str, torch.nn.Parameter]


# -- parts and their parameters --------------------------------------------------------------------


def parameters(module: Any, part: str = "") -> Parameters:
    """The parameters of ``module``, or of a part that has to be there, by name."""
    found = dict(module.named_parameters(remove_duplicate=False))
    if not part:
        return found
    inside = {n: p for n, p in found.items() if n == part or n.startswith(f"{part}.")}
    if not inside and part not in {name for name, _ in module.named_modules()}:
        kind = "model" if part in MODEL_PARTS else "block"
        name = part.rpartition(".")[2]
        raise CheckFailure(
            f"Your {kind} has no part called {name}: name it so, and assign it in the constructor."
        )
    return inside


def blocks_of(model: Any, layers: int = LAYERS) -> list[str]:
    """The names of a model's blocks, such as ``blocks.0``, in order."""
    numbers = {
        int(found[1])
        for n in parameters(model, "blocks")
        if (found := re.match(r"blocks\.(\d+)\.", n))
    }
    if not numbers:
        raise CheckFailure(
            "The blocks of your model have no registered parameters: a plain list hides modules "
            "from PyTorch, nn.ModuleList does not."
        )
    if len(numbers) != layers:
        raise CheckFailure(
            "The number of your model's blocks is not num_layers.", f"there are {len(numbers)}"
        )
    return [f"blocks.{number}" for number in sorted(numbers)]


@torch.no_grad()
def randomise(module: Any, draw: Any) -> None:
    """Set every matrix at random, and move every vector a little from where it starts."""
    for parameter in module.parameters():
        if parameter.dim() > 1:
            parameter.copy_(draw.normal(*parameter.shape, std=parameter.shape[-1] ** -0.5))
        else:
            parameter.add_(draw.normal(*parameter.shape, std=0.2))


@torch.no_grad()
def copy_parameters(source: Parameters, target: Parameters) -> None:
    """Give ``target`` the numbers that ``source`` has under the same names."""
    if source.keys() != target.keys() or any(
        source[name].shape != target[name].shape for name in source
    ):
        raise CheckFailure(
            "Two of your modules that should hold equal parameters do not: the blocks of the "
            "model have to be TransformerBlocks, made with the model's own options."
        )
    for name, parameter in target.items():
        parameter.copy_(source[name])


@contextlib.contextmanager
def silenced(module: Any, *parts: str) -> Iterator[None]:
    """Within the block every parameter of ``parts`` is zero."""
    touched = {n: p for part in parts for n, p in parameters(module, part).items()}
    kept = {name: parameter.detach().clone() for name, parameter in touched.items()}
    try:
        with torch.no_grad():
            for parameter in touched.values():
                parameter.zero_()
        yield
    finally:
        with torch.no_grad():
            for name, parameter in touched.items():
                parameter.copy_(kept[name])


@contextlib.contextmanager
def without_blocks(model: Any) -> Iterator[None]:
    """Within the block x goes through the model's blocks unchanged.

    Norms of the blocks only normalise meanwhile, which keeps a post-norm block from mattering.
    """
    norms = [f"{block}.{norm}" for block in blocks_of(model) for norm in ("norm1", "norm2")]
    kept = {n: p.detach().clone() for norm in norms for n, p in parameters(model, norm).items()}
    silent = [f"{block}.{part}" for block in blocks_of(model) for part in ("attention", "ffn")]
    try:
        for norm in norms:
            neutralise(model, norm)
        with silenced(model, *silent):
            yield
    finally:
        with torch.no_grad():
            for name, parameter in parameters(model).items():
                if name in kept:
                    parameter.copy_(kept[name])


@torch.no_grad()
def neutralise(module: Any, norm: str) -> None:
    """Let a norm only normalise: weight 1, bias 0."""
    for name, parameter in parameters(module, norm).items():
        parameter.fill_(0.0 if name.endswith(("bias", "beta")) else 1.0)


def attention_weights(draw: Any, width: int = C) -> dict[str, torch.Tensor]:
    """Random W_q, W_k, W_v and W_o, each (C, C)."""
    return {name: draw.normal(width, width, std=width**-0.5) for name in ("q", "k", "v", "o")}


@torch.no_grad()
def set_attention(module: Any, part: str, weights: dict[str, torch.Tensor]) -> None:
    """Set the projections of an attention, whose biases become 0; raises CheckFailure."""
    found = parameters(module, part)
    by_end: Parameters = {}
    for name, parameter in found.items():
        if parameter.dim() == 1:
            parameter.zero_()
        by_end[".".join(name.split(".")[-2:])] = parameter
        by_end[name.rpartition(".")[2]] = parameter
    joint = by_end.get("in_proj_weight"), by_end.get("out_proj.weight")
    single = [by_end.get(f"W_{letter}.weight") for letter in weights]
    if joint[0] is not None and joint[1] is not None:
        pairs = [
            (joint[0], torch.cat([weights[x] for x in ("q", "k", "v")])),
            (joint[1], weights["o"]),
        ]
    elif all(parameter is not None for parameter in single):
        pairs = list(zip(single, weights.values(), strict=True))
    else:
        raise CheckFailure(
            "The projections of your attention are not where they can be found: it has to be "
            "nn.MultiheadAttention, or a module of yours with W_q, W_k, W_v and W_o."
        )
    for parameter, value in pairs:
        if parameter.shape != value.shape:
            raise CheckFailure("A projection of your attention does not have C rows and columns.")
        parameter.copy_(value)


# -- inputs and outputs ----------------------------------------------------------------------------


def standardised(x: torch.Tensor) -> torch.Tensor:
    """x with mean 0 and mean square 1 in the last axis: every norm leaves that as it is."""
    centred = x - x.mean(-1, keepdim=True)
    return centred / centred.square().mean(-1, keepdim=True).sqrt()


def make_block(module: Any, draw: Any, **options: Any) -> Any:
    """A block with random weights, in evaluation; all of its parts are there."""
    block = module.TransformerBlock(**{**BLOCK, **options})
    for part in BLOCK_PARTS:
        parameters(block, part)
    randomise(block, draw)
    return block.eval()


def make_model(module: Any, draw: Any, **options: Any) -> Any:
    """A model with random weights, in evaluation; all of its parts are there."""
    model = module.TransformerLM(**{**MODEL, **options})
    for part in MODEL_PARTS:
        parameters(model, part)
    randomise(model, draw)
    return model.eval()


def output(block: Any, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
    """The block's output, its shape checked."""
    result: torch.Tensor = block(x) if mask is None else block(x, mask=mask)
    names = ("B", "T", "C")
    assert_shape(result, list(zip(names, x.shape, strict=True)), "output")
    return result


def logits(model: Any, tokens: torch.Tensor, vocabulary: int = V) -> torch.Tensor:
    """The model's logits, their shape checked."""
    result: torch.Tensor = model(tokens)
    sizes = [("B", tokens.shape[0]), ("T", tokens.shape[1]), ("V", vocabulary)]
    assert_shape(result, sizes, "logits")
    return result


def causal(length: int) -> torch.Tensor:
    """Bool (T, T): which token (column) each token (row) may see."""
    return torch.ones(length, length, dtype=torch.bool).tril()


# -- who sees whom ---------------------------------------------------------------------------------


def attention_sees(
    block: Any, draw: Any, x: torch.Tensor, mask: torch.Tensor | None = None
) -> torch.Tensor:
    """Bool (T, B, T): whether what attention adds to token i of the last item depends on others.

    Entry (i, b, j) is for token j of item b. Found by gradients, with ``ffn`` silent.
    """
    allowed = causal(x.shape[1]) if mask is None else mask
    leaf = x.detach().clone().requires_grad_()
    with silenced(block, "ffn"):
        result = output(block, leaf, mask)
        _assert_no_empty_row(result.detach(), allowed)
        if not result.requires_grad:
            raise CheckFailure("No gradient can flow back from your output to x: it is cut off.")
        rows = []
        for token in range(x.shape[1]):
            cotangent = torch.zeros_like(result)
            cotangent[-1, token] = draw.normal(x.shape[-1])
            (gradient,) = torch.autograd.grad(
                result, leaf, cotangent, retain_graph=True, allow_unused=True
            )
            if gradient is None:
                raise CheckFailure("No gradient reaches x: your output does not depend on it.")
            rows.append((gradient - cotangent).abs().amax(-1) > 1e-6)
    return torch.stack(rows)


def model_sees(model: Any, draw: Any, length: int = T) -> torch.Tensor | None:
    """Bool (T, T): whether the logits after token i depend on token j; found by changing it.

    None where two equal calls differ, so that nothing can be found.
    """
    tokens = draw.integers(0, V, length)
    variants = tokens.repeat(length + 1, 1)
    places = torch.arange(length)
    variants[places, places] = (tokens + draw.integers(1, V, length)) % V
    with torch.no_grad():
        found = logits(model, variants)
        again = logits(model, variants)
    _assert_no_empty_row(found, causal(length))
    if not torch.equal(found, again):
        return None
    moved = (found[:-1] - found[-1:]).abs().amax(-1) > 1e-5
    return moved.T


def _assert_no_empty_row(result: torch.Tensor, allowed: torch.Tensor) -> None:
    """Raise CheckFailure for NaN, with words for where it is."""
    broken = result.isnan().any(-1)
    if not bool(broken.any()) or not torch.equal(allowed, causal(len(allowed))):
        assert_finite(result, "output")
        return
    if bool(broken.all()):
        raise CheckFailure(
            "There is NaN (not a number) in all of your output. Softmax gives NaN to a token that "
            "may see nothing at all: the last one where the mask is turned round (True means "
            "blocked to nn.MultiheadAttention), the first one where it may not see itself."
        )
    if bool(broken[:, -1].all()) and not bool(broken[:, :-1].any()):
        raise CheckFailure(
            "There is NaN (not a number) at the last token, which may see nothing in yours. "
            + INVERTED
        )
    if bool(broken[:, 0].all()) and not bool(broken[:, 1:].any()):
        raise CheckFailure(
            "There is NaN (not a number) at the first token, which may see nothing in yours: a "
            "token sees itself too."
        )
    assert_finite(result, "output")


def assert_sees(seen: torch.Tensor, allowed: torch.Tensor, what: str) -> None:
    """Each token (row) sees the allowed other tokens (columns) and no more; raises CheckFailure.

    ``what`` is what depends on the tokens, such as "What attention adds to a token". Its query
    makes a token depend on itself under any mask, so that only the first token's own place counts,
    where a causal mask leaves nothing to share.
    """
    length = len(allowed)
    own = torch.eye(length, dtype=torch.bool)
    is_causal = torch.equal(allowed, causal(length))
    detail = f"rows see {seen.int().tolist()}, expected {allowed.int().tolist()}"
    if is_causal and not bool(seen[0, 0]):
        raise CheckFailure(
            f"{what} does not depend on that token itself; it may see itself too.", detail
        )
    seen, allowed = seen | own, allowed | own
    if torch.equal(seen, allowed):
        return
    extra, missing = seen & ~allowed, allowed & ~seen
    if torch.equal(seen, ~allowed | own):
        raise CheckFailure(INVERTED, detail)
    if is_causal and bool(seen.all()):
        words = "depends on every token, later ones too: it sees the future."
    elif is_causal and bool(extra.diagonal(1).all()) and int(extra.sum()) == length - 1:
        words = "depends on the very next token, the one to predict: the mask is one place off."
    elif is_causal and bool(extra.any()):
        words = "depends on later tokens: it sees the future."
    elif bool(extra.any()) and bool(missing.any()):
        words = "depends on other tokens than those that the mask allows."
    elif bool(extra.any()):
        words = "depends on tokens that the mask blocks."
    elif torch.equal(seen, own):
        words = "depends on no other token."
    else:
        words = "does not depend on all the tokens that it may see."
    raise CheckFailure(f"{what} {words}", detail)
