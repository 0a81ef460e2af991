"""Probes of `mha`: what tells one misconception about it from another."""

import torch
from support_dropout import twice_the_identity
from support_mha import Setting

from grader.suite import probe

CROSS = ({"setting": Setting(2, 3, 4, 5, 3)}, {"setting": Setting(3, 2, 5, 4, 6)})
SQUARE = ({"setting": Setting(2, 3, 4, 4, 3)}, {"setting": Setting(3, 2, 5, 5, 6)})
AS_MANY_ITEMS = ({"setting": Setting(3, 3, 4, 5, 2)}, {"setting": Setting(2, 2, 5, 3, 3)})


def named(results):
    """Output and weights of one call, by name."""
    return dict(zip(("output", "weights"), results, strict=True))


def answer(setting, student, draw, *, weights=None, mask=None, times=1.0):
    """Output and weights of one call, with random weights and inputs."""
    weights = setting.weights(draw) if weights is None else weights
    query, key, value = setting.inputs(draw)
    options = {} if mask is None else {"mask": mask}
    made = setting.load(student, weights).eval()
    return named(made(query * times, key * times, value, **options))


@probe(*CROSS)
def probe_cross(student, draw, setting):
    return answer(setting, student, draw)


@probe(*SQUARE)
def probe_square(student, draw, setting):
    return answer(setting, student, draw)


@probe(*SQUARE)
def probe_self_attention(student, draw, setting):
    x = draw.normal(setting.batch, setting.queries, setting.width)
    return named(setting.loaded(student, draw)(x, x, x))


@probe(*CROSS)
def probe_heads(student, draw, setting):
    return answer(setting, student, draw, weights=setting.identity())


@probe(*SQUARE)
def probe_mask_of_two_axes(student, draw, setting):
    mask = setting.mask(draw, "(T, S)")
    mask[0, 0], mask[0, 1] = False, True
    return answer(setting, student, draw, mask=mask)


@probe(*AS_MANY_ITEMS)
def probe_mask_for_each_item(student, draw, setting):
    return answer(setting, student, draw, mask=setting.mask(draw, "(B, T, S)"))


@probe(*CROSS)
def probe_mask_for_each_item_of_more_heads(student, draw, setting):
    return answer(setting, student, draw, mask=setting.mask(draw, "(B, T, S)"))


@probe(*CROSS)
def probe_mask_for_each_item_in_four_axes(student, draw, setting):
    return answer(setting, student, draw, mask=setting.mask(draw, "(B, 1, T, S)"))


@probe(*CROSS)
def probe_mask_for_each_head(student, draw, setting):
    return answer(setting, student, draw, mask=setting.mask(draw, "(B, H, T, S)"))


@probe({**CROSS[0], "below": 3e2}, {**CROSS[1], "below": 1e5})
def probe_allowed_scores_are_low(student, draw, below, setting):
    query = draw.normal(setting.batch, setting.queries, setting.width).abs()
    key = -draw.normal(setting.batch, setting.keys, setting.width).abs() * below
    key[:, 0] = 0.0
    mask = setting.mask(draw, "(T, S)")
    mask[:, 0], mask[:, 1] = False, True
    made = setting.load(student, setting.identity()).eval()
    return {"weights": made(query, key, key, mask=mask)[1]}


@probe(*CROSS)
def probe_large_scores(student, draw, setting):
    return answer(setting, student, draw, times=15.0)


@probe(*CROSS)
def probe_query_without_keys(student, draw, setting):
    mask = setting.mask(draw, "(B, H, T, S)")
    mask[-1, -1, 2] = False
    return answer(setting, student, draw, mask=mask)


@probe(*CROSS)
def probe_first_query_without_keys(student, draw, setting):
    mask = setting.mask(draw, "(B, H, T, S)")
    mask[0, 0, 0] = False
    return answer(setting, student, draw, mask=mask)


@probe(*CROSS)
def probe_nothing_allowed(student, draw, setting):
    mask = torch.zeros(setting.queries, setting.keys, dtype=torch.bool)
    return answer(setting, student, draw, mask=mask)


@probe(*CROSS)
def probe_key_without_queries(student, draw, setting):
    mask = setting.mask(draw, "(T, S)")
    mask[:, 1], mask[:, 0] = False, True
    return answer(setting, student, draw, mask=mask)


@probe({"width": 10, "heads": 3}, {"width": 3, "heads": 6})
def probe_width_that_does_not_divide(student, draw, width, heads):
    try:
        student.MultiHeadAttention(embed_dim=width, num_heads=heads)
    except (ValueError, AssertionError):
        return {"noticed": torch.tensor(True)}
    return {"noticed": torch.tensor(False)}


@probe(*CROSS)
def probe_gradients(student, draw, setting):
    leaves = {name: x.requires_grad_() for name, x in setting.inputs(draw)._asdict().items()}
    made = setting.loaded(student, draw)
    found = {}
    for name, result in named(made(*leaves.values())).items():
        if result.requires_grad:
            total = (result * draw.normal(*result.shape)).sum()
            each = torch.autograd.grad(
                total, list(leaves.values()), allow_unused=True, retain_graph=True
            )
            by_leaf = zip(leaves, each, strict=True)
            found |= {f"{name}/{leaf}": grad for leaf, grad in by_leaf if grad is not None}
    return found


@probe({"setting": Setting(2, 3, 4, 5, 5)}, {"setting": Setting(3, 2, 5, 4, 6)})
def probe_parameters(student, draw, setting):
    """How many numbers are registered, and how many of them learn, biases apart."""
    made = student.MultiHeadAttention(embed_dim=setting.width, num_heads=setting.heads).eval()
    output, _ = made(*setting.inputs(draw))
    if output.requires_grad:
        (output * draw.normal(*output.shape)).sum().backward()
    matrices = [p for p in made.parameters() if p.numel() > 3 * setting.width]
    learning = [p for p in matrices if p.grad is not None and bool((p.grad != 0).any())]
    return {
        "registered": torch.tensor(sum(p.numel() for p in matrices)),
        "learning": torch.tensor(sum(p.numel() for p in learning)),
    }


@probe(*CROSS)
def probe_bfloat16(student, draw, setting):
    made = setting.load(student, setting.identity()).eval().to(torch.bfloat16)
    results = named(made(*setting.inputs(draw, torch.bfloat16)))
    # Right answers round at different places; only the dtype is compared.
    return {name: torch.zeros(1, dtype=tensor.dtype) for name, tensor in results.items()}


@probe(*CROSS)
def probe_meta(student, draw, setting):
    made = setting.load(student, setting.identity()).eval().to("meta")
    return named(made(*(tensor.to("meta") for tensor in setting.inputs(draw))))


@probe(*CROSS)
def probe_inputs_afterwards(student, draw, setting):
    inputs, mask = setting.inputs(draw), setting.mask(draw, "(T, S)")
    made = setting.load(student, setting.identity()).eval()
    first, _ = made(*inputs)
    made(*inputs, mask=mask)
    afterwards = {**inputs._asdict(), "mask": mask.clone()}
    second, _ = made(*inputs)
    return {**afterwards, "again": torch.tensor(torch.equal(first, second))}


@probe(*CROSS)
def probe_not_contiguous(student, draw, setting):
    query = draw.normal(setting.queries, setting.batch, setting.width).transpose(0, 1)
    key = draw.normal(setting.batch, setting.width, setting.keys).transpose(1, 2)
    return named(setting.loaded(student, draw)(query, key, key))


@probe({"setting": Setting(1, 1, 1, 3, 2)}, {"setting": Setting(2, 3, 1, 1, 1)})
def probe_axes_of_size_one(student, draw, setting):
    return answer(setting, student, draw)


def look(student, heads, keys, *, train, **options):
    """Numbers that tell how a mode treats equal weights: the same whatever is drawn.

    Every weight is 1 / keys before dropout. Of what comes out: what a survivor is, the share of
    zeros in tenths, and whether zeros come in both copies or in columns.
    """
    setting = Setting(1, heads, 400, keys, 2 * keys)
    made = setting.load(student, setting.identity(), **options).train(train)
    value = twice_the_identity(keys).repeat(1, 1, heads)
    output, _ = made(torch.ones(1, 400, setting.width), torch.ones(1, keys, setting.width), value)
    setting.assert_shape_of_output(output)
    first, second = output.detach().unflatten(-1, (heads, 2 * keys)).chunk(2, dim=-1)
    zero = first == 0
    alive = first[~zero] if bool(zero.any()) and not bool(zero.all()) else first.flatten()[:1]
    # What depends on the draw is not told: survivors that differ, the share of few zeros.
    equal = bool(((alive - alive[0]).abs() < 1e-6).all())
    columns = bool((zero == zero[:, :1]).all())
    few = columns and bool(zero.any()) and not bool(zero.all())
    return {
        "survivor": alive[0] if equal else torch.tensor(-1.0),
        "share": torch.tensor(-1.0) if few else (zero.float().mean() * 10).round(),
        "both": torch.tensor(torch.equal(zero, second == 0)),
        "columns": torch.tensor(columns),
    }


@probe({"rate": 0.3, "heads": 2, "keys": 8}, {"rate": 0.6, "heads": 3, "keys": 6})
def probe_training(student, draw, rate, heads, keys):
    return look(student, heads, keys, train=True, dropout=rate)


@probe({"rate": 0.3, "heads": 2, "keys": 8}, {"rate": 0.6, "heads": 3, "keys": 6})
def probe_evaluation(student, draw, rate, heads, keys):
    return look(student, heads, keys, train=False, dropout=rate)


@probe({"heads": 2, "keys": 8}, {"heads": 3, "keys": 6})
def probe_default_rate(student, draw, heads, keys):
    return look(student, heads, keys, train=True)


__all__ = [name for name in dir() if name.startswith("probe_")]
