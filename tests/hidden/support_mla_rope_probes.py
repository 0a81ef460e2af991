"""Probes of `mla_rope`: what tells one misconception about it from another.

Random numbers come from `draw.normal` and `draw.mask` alone, which are replayed. Where rounding
counts, at huge scores and in bfloat16, only what is plainly wrong is observed.
"""

import torch
from support_mla_rope import (
    attend,
    attend_and_cache,
    in_chunks,
    is_sequence,
    largest,
    loaded,
    shapes,
)

from grader.suite import probe

SIZES = (
    {"batch": 2, "length": 5, "numbers": (10, 3, 6, 4, 8, 7)},
    {"batch": 3, "length": 4, "numbers": (7, 2, 4, 6, 5, 9)},
)
AS_MANY_HEADS = (
    {"batch": 3, "length": 5, "numbers": (10, 3, 6, 4, 8, 7)},
    {"batch": 2, "length": 4, "numbers": (7, 2, 4, 6, 5, 9)},
)
NAMES = ("embed_dim", "num_heads", "head_dim", "rope_dim", "q_latent_dim", "kv_latent_dim")
PIECES = [2, 1, 2]


class Setting:
    """One module with random matrices, and tokens for it."""

    def __init__(self, student, draw, batch, length, numbers, *, dtype=torch.float32, **changes):
        self.student, self.draw, self.dtype = student, draw, dtype
        self.size = dict(zip(NAMES, numbers, strict=True))
        self.batch, self.length = batch, length
        self.matrices = {
            name: draw.normal(*shape, std=1.3 * shape[1] ** -0.5)
            for name, shape in shapes(self.size).items()
        }
        for name, factor in changes.items():
            self.matrices[name] = factor * self.matrices[name]
        self.module = self.another()
        self.x = self.tokens(length)

    def another(self):
        matrices = {name: matrix.to(self.dtype) for name, matrix in self.matrices.items()}
        return loaded(self.student, matrices, self.size, dtype=self.dtype)

    def tokens(self, length):
        return self.draw.normal(self.batch, length, self.size["embed_dim"], dtype=self.dtype)

    def mask(self, *leading, queries=None, keys=None):
        """A mask that lets every token see itself, and blocks some of the earlier ones.

        However the causal mask is shifted, no row is left empty: what comes out of one is chance.
        """
        queries, keys = queries or self.length, keys or self.length
        mask = self.draw.mask(*leading, queries, keys)
        mask = mask | torch.eye(keys, dtype=torch.bool)[keys - queries :]
        mask[..., :-1, 0], mask[..., -1, 0], mask[..., -1, 1] = True, False, True
        return mask


def tensors(thing, name):
    """The tensors that were returned, or are in a cache, by name; nothing for anything else."""
    if isinstance(thing, torch.Tensor):
        return {name: thing}
    if not is_sequence(thing):
        return {name: torch.zeros(0)}
    return {
        f"{name} {place}": item if isinstance(item, torch.Tensor) else torch.zeros(0)
        for place, item in enumerate(thing)
    }


# -- one pass --------------------------------------------------------------------------------------


@probe(*SIZES)
def probe_one_pass(student, draw, **sizes):
    setting = Setting(student, draw, **sizes)
    return {"output": attend(setting.module, setting.x)}


@probe(*SIZES)
def probe_content_part(student, draw, **sizes):
    setting = Setting(student, draw, **sizes, W_KR=0.0, W_QR=0.0)
    return {"output": attend(setting.module, setting.x)}


@probe(*SIZES)
def probe_rotary_part(student, draw, **sizes):
    setting = Setting(student, draw, **sizes, W_UK=0.0, W_UQ=0.0)
    return {"output": attend(setting.module, setting.x)}


@probe(*SIZES)
def probe_equal_tokens(student, draw, **sizes):
    setting = Setting(student, draw, **sizes)
    return {"output": attend(setting.module, setting.x[:, :1].expand_as(setting.x))}


@probe(*SIZES)
def probe_one_item(student, draw, **sizes):
    setting = Setting(student, draw, **sizes | {"batch": 1})
    return {"output": attend(setting.module, setting.x)}


# -- masks -----------------------------------------------------------------------------------------


@probe(*SIZES)
def probe_mask(student, draw, **sizes):
    setting = Setting(student, draw, **sizes)
    return {"output": attend(setting.module, setting.x, setting.mask())}


@probe(*SIZES)
def probe_mask_of_items(student, draw, **sizes):
    setting = Setting(student, draw, **sizes)
    return {"output": attend(setting.module, setting.x, setting.mask(setting.batch))}


@probe(*AS_MANY_HEADS)
def probe_mask_of_as_many_items(student, draw, **sizes):
    setting = Setting(student, draw, **sizes)
    return {"output": attend(setting.module, setting.x, setting.mask(setting.batch))}


@probe(*SIZES)
def probe_mask_with_a_cache(student, draw, **sizes):
    setting = Setting(student, draw, **sizes)
    _, cache = attend_and_cache(setting.module, setting.tokens(3))
    mask = setting.mask(queries=setting.length, keys=setting.length + 3)
    output, _ = attend_and_cache(setting.module, setting.x, cache, mask)
    return {"output": output}


@probe(*SIZES)
def probe_large_scores(student, draw, **sizes):
    found = {}
    for size in (300.0, 1e5, -1e5):
        setting = Setting(student, draw, **sizes, W_UQ=size)
        before = attend(setting.module, setting.x)
        later = setting.x.clone()
        later[:, -1] *= -2
        after = attend(setting.module, later)
        found[f"finite at {size:g}"] = before.isfinite().all().double()
        found[f"leaks at {size:g}"] = (~((after - before)[:, :-1].abs() < 1e-3).all()).double()
    return found


# -- cache -----------------------------------------------------------------------------------------


@probe(*SIZES)
def probe_what_is_returned(student, draw, **sizes):
    setting = Setting(student, draw, **sizes)
    with torch.no_grad():
        alone = setting.module(setting.x)
        both = setting.module(setting.x, use_cache=True)
    if isinstance(both, torch.Tensor) or not is_sequence(both):
        return tensors(alone, "alone") | tensors(both, "both")
    output, *cache = both
    found = tensors(alone, "alone") | {"output": output}
    for place, item in enumerate(cache):
        found |= tensors(item, f"cache {place}")
    return found


@probe(*SIZES)
def probe_cache_of_pieces(student, draw, **sizes):
    setting = Setting(student, draw, **sizes)
    x, cache, found, done = setting.tokens(sum(PIECES)), None, {}, 0
    for count in PIECES:
        output, cache = attend_and_cache(setting.module, x[:, done : done + count], cache)
        found[f"output {done}"] = output
        done += count
    return found | tensors(cache, "cache")


@probe(*SIZES)
def probe_one_by_one(student, draw, **sizes):
    setting = Setting(student, draw, **sizes)
    return {"output": in_chunks(setting.module, setting.tokens(4), [1])}


@probe(*SIZES)
def probe_content_in_pieces(student, draw, **sizes):
    setting = Setting(student, draw, **sizes, W_KR=0.0, W_QR=0.0)
    return {"output": in_chunks(setting.module, setting.tokens(sum(PIECES)), PIECES)}


@probe(*SIZES)
def probe_old_cache(student, draw, **sizes):
    setting = Setting(student, draw, **sizes)
    first, other = setting.tokens(3), setting.tokens(2)
    _, cache = attend_and_cache(setting.module, first)
    with torch.no_grad():
        setting.module(other, cache=cache, use_cache=True)
    left = tensors(cache, "old")
    again, _ = attend_and_cache(setting.module, other, cache)
    return left | {"again": again}


@probe(*SIZES)
def probe_two_prompts(student, draw, **sizes):
    setting = Setting(student, draw, **sizes)
    first, second = setting.tokens(4), setting.tokens(4)
    _, one = attend_and_cache(setting.module, first[:, :3])
    begun, two = attend_and_cache(setting.module, second[:, :2])
    after_one, _ = attend_and_cache(setting.module, first[:, 3:], one)
    after_two, _ = attend_and_cache(setting.module, second[:, 2:], two)
    return {"begun": begun, "after one": after_one, "after two": after_two}


# -- form ------------------------------------------------------------------------------------------


@probe(*SIZES)
def probe_odd_rope_dim(student, draw, batch, length, numbers):
    size = dict(zip(NAMES, numbers, strict=True))
    try:
        student.RotaryMultiHeadLatentAttention(**size | {"rope_dim": 3})
    except ValueError:
        return {"error": torch.tensor(1)}
    except (TypeError, AssertionError, RuntimeError):
        return {"error": torch.tensor(2)}
    return {"error": torch.tensor(0)}


@probe(*SIZES)
def probe_float64(student, draw, **sizes):
    setting = Setting(student, draw, **sizes, dtype=torch.float64)
    return {"output": attend(setting.module, setting.x)}


@probe(*SIZES)
def probe_bfloat16(student, draw, **sizes):
    setting = Setting(student, draw, **sizes, dtype=torch.bfloat16)
    output, cache = attend_and_cache(setting.module, setting.x)
    found = {"output": output} | tensors(cache, "cache")
    return {name: tensor.new_zeros(tensor.shape) for name, tensor in found.items()}


@probe(*SIZES)
def probe_meta(student, draw, batch, length, numbers):
    size = dict(zip(NAMES, numbers, strict=True))
    module = student.RotaryMultiHeadLatentAttention(**size).to("meta")
    with torch.no_grad():
        output = module(torch.empty(batch, length, size["embed_dim"], device="meta"))
    return tensors(output, "output")


@probe(*SIZES)
def probe_not_contiguous(student, draw, **sizes):
    setting = Setting(student, draw, **sizes)
    x = setting.x.transpose(0, 1).contiguous().transpose(0, 1)
    with torch.no_grad():
        return {"output": setting.module(x)}


@probe(*SIZES)
def probe_gradient(student, draw, **sizes):
    setting = Setting(student, draw, **sizes)
    x = setting.x.requires_grad_()
    cotangent = setting.tokens(setting.length)
    try:
        (setting.module(x) * cotangent).sum().backward()
    except (RuntimeError, TypeError):
        # No graph, or one that was written into: torch has many words for it.
        return {"gradient": torch.zeros(0)}
    matrices = [p for p in setting.module.parameters() if p.dim() > 1]
    trained = sum(p.grad is not None and largest(p.grad) > 0 for p in matrices)
    gradient = torch.zeros(0) if x.grad is None else x.grad
    return {"gradient": gradient, "untrained": torch.tensor(trained < len(matrices))}


@probe(*SIZES)
def probe_inputs_afterwards(student, draw, **sizes):
    setting = Setting(student, draw, **sizes)
    mask = setting.mask()
    mask[..., 0, 1] = True
    with torch.no_grad():
        setting.module(setting.x, mask=mask)
    return {"x": setting.x, "mask": mask.double()}
