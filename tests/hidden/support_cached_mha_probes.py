"""Probes of `cached_mha`: what tells one misconception about it from another.

Random numbers come from `draw.normal` and `draw.mask` alone, which are replayed. Of rules that
refuse a call only the kind of error is observed: everybody's words are their own.
"""

import torch
from support_cached_mha import decode, module, random_weights, read, run, step

from grader.suite import CheckFailure, probe

SIZES = (
    {"batch": 2, "heads": 3, "width": 4, "queries": 4, "keys": 6},
    {"batch": 3, "heads": 2, "width": 6, "queries": 5, "keys": 7},
)
AS_MANY_HEADS = (
    {"batch": 3, "heads": 3, "width": 2, "queries": 4, "keys": 5},
    {"batch": 2, "heads": 2, "width": 4, "queries": 3, "keys": 6},
)
LENGTH = 6
CHUNKS = [2, 1, 3]
CALLS_ERRORS = (
    *(ValueError, TypeError, AssertionError, RuntimeError, LookupError, AttributeError, NameError),
    CheckFailure,
)


class Setting:
    """One module with random weights, and tokens for it."""

    def __init__(self, student, draw, sizes, *, weights=None, **options):
        self.batch, self.heads, width = sizes["batch"], sizes["heads"], sizes["width"]
        self.full = self.heads * width
        self.queries, self.keys = sizes["queries"], sizes["keys"]
        self.draw, self.student = draw, student
        self.weights = random_weights(draw, self.full) if weights is None else weights
        self.options = options
        self.attention = self.another()
        self.query = self.tokens(self.queries)
        self.key_value = self.tokens(self.keys)

    def another(self, **options):
        sizes = {"embed_dim": self.full, "num_heads": self.heads}
        return module(self.student, self.weights, **sizes, **self.options, **options)

    def tokens(self, length):
        return self.draw.normal(self.batch, length, self.full)

    def ones(self, *shape):
        return torch.ones(shape, dtype=torch.bool)

    def ragged(self):
        valid = self.draw.mask(self.batch, LENGTH)
        valid[:, 0], valid[0, 1], valid[1, 1], valid[1, 3] = True, False, True, False
        return valid

    def run(self, *tokens, **options):
        return {"output": run(self.attention, *tokens, **options)}

    def decode(self, x, chunks, **options):
        return decode(self.attention, x, chunks, **options)


# -- one pass --------------------------------------------------------------------------------------


@probe(*SIZES)
def probe_self(student, draw, **sizes):
    setting = Setting(student, draw, sizes)
    return setting.run(setting.query)


@probe(*SIZES)
def probe_cross(student, draw, **sizes):
    setting = Setting(student, draw, sizes)
    return setting.run(setting.query, setting.key_value)


@probe(*SIZES)
def probe_causal(student, draw, **sizes):
    setting = Setting(student, draw, sizes)
    return setting.run(setting.query, causal=True)


@probe(*SIZES)
def probe_masks(student, draw, **sizes):
    setting = Setting(student, draw, sizes)
    batch, heads, shape = setting.batch, setting.heads, (setting.queries, setting.keys)
    found = {}
    for name, front in (("two", ()), ("batch", (batch, 1)), ("heads", (batch, heads))):
        mask = draw.mask(*front, *shape)
        mask[..., 0, 0], mask[..., 0, 1] = False, True
        found[name] = run(setting.attention, setting.query, setting.key_value, attention_mask=mask)
    return found


@probe(*SIZES)
def probe_masks_of_sequences(student, draw, **sizes):
    setting = Setting(student, draw, sizes)
    mask = draw.mask(setting.batch, setting.queries, setting.keys)
    return setting.run(setting.query, setting.key_value, attention_mask=mask)


@probe(*AS_MANY_HEADS)
def probe_masks_of_as_many_sequences(student, draw, **sizes):
    setting = Setting(student, draw, sizes)
    mask = draw.mask(setting.batch, setting.queries, setting.keys)
    return setting.run(setting.query, setting.key_value, attention_mask=mask)


@probe(*SIZES)
def probe_key_padding(student, draw, **sizes):
    setting = Setting(student, draw, sizes)
    valid = draw.mask(setting.batch, setting.keys)
    return setting.run(setting.query, setting.key_value, key_padding_mask=valid)


@probe(*SIZES)
def probe_key_padding_of_self(student, draw, **sizes):
    setting = Setting(student, draw, sizes)
    valid = draw.mask(setting.batch, setting.queries)
    mask = draw.mask(setting.queries, setting.queries) | valid[0]
    mask = mask.expand(setting.batch, *mask.shape) | valid[:, None]
    return setting.run(setting.query, key_padding_mask=valid, attention_mask=mask)


@probe(*SIZES)
def probe_query_padding(student, draw, **sizes):
    setting = Setting(student, draw, sizes)
    attention = setting.another(output_bias=draw.normal(setting.full))
    valid = draw.mask(setting.batch, setting.queries)
    output = run(attention, setting.query, query_padding_mask=valid)
    # Not everybody has a bias, so that only what is zero can be compared.
    return {"zero": output == 0, "difference": output[:, 1:2] - output[:, :1] * valid[0, 0]}


@probe({**SIZES[0], "score": -2e2}, {**SIZES[1], "score": -3e4})
def probe_low_scores(student, draw, score, **sizes):
    full, heads = sizes["heads"] * sizes["width"], sizes["heads"]
    first = torch.zeros(full, full)
    first[torch.arange(heads) * sizes["width"], 0] = 1.0
    weights = random_weights(draw, full) | {"W_q": first, "W_k": first}
    setting = Setting(student, draw, sizes, weights=weights)
    setting.query[..., 0] = score
    setting.key_value[..., 0] = 1.0
    # One key each, whose weight is 1 however coarse numbers are down there.
    mask = torch.eye(setting.queries, setting.keys, dtype=torch.bool)
    return setting.run(setting.query, setting.key_value, attention_mask=mask)


@probe(*SIZES)
def probe_large_scores(student, draw, **sizes):
    setting = Setting(student, draw, sizes)
    return setting.run(setting.query * 9, setting.key_value * 9)


# -- positions -------------------------------------------------------------------------------------


@probe(*SIZES)
def probe_causal_offsets(student, draw, **sizes):
    setting = Setting(student, draw, sizes)
    offsets = {"query_position_offset": 3, "key_position_offset": 2}
    return setting.run(setting.query, setting.key_value, causal=True, **offsets)


@probe(*SIZES)
def probe_causal_offset_of_self(student, draw, **sizes):
    setting = Setting(student, draw, sizes)
    return setting.run(setting.query, causal=True, key_position_offset=2)


@probe(*SIZES)
def probe_rope(student, draw, **sizes):
    setting = Setting(student, draw, sizes, use_rope=True)
    return setting.run(setting.query)


@probe(*SIZES)
def probe_rope_offsets(student, draw, **sizes):
    setting = Setting(student, draw, sizes, use_rope=True)
    attention, query, key_value = setting.attention, setting.query, setting.key_value
    return {
        "queries": run(attention, query, key_value, query_position_offset=5),
        "keys": run(attention, query, key_value, key_position_offset=7),
        "self": run(attention, query, key_position_offset=4),
        "both": run(attention, query, query_position_offset=2, key_position_offset=6),
    }


# -- cache -----------------------------------------------------------------------------------------


@probe(*SIZES)
def probe_prompt(student, draw, **sizes):
    setting = Setting(student, draw, sizes)
    output, cache = step(setting.attention, setting.query, causal=True)
    held = read(cache)._asdict()
    return {"output": output} | held | {"length": torch.tensor(held["length"])}


@probe(*SIZES)
def probe_steps(student, draw, **sizes):
    setting = Setting(student, draw, sizes)
    output, caches = setting.decode(setting.tokens(LENGTH), CHUNKS)
    held = read(caches[-1])
    return {"output": output, "key": held.key, "length": torch.tensor(held.length)}


@probe(*SIZES)
def probe_steps_without_causal(student, draw, **sizes):
    setting = Setting(student, draw, sizes)
    output, _ = setting.decode(setting.tokens(LENGTH), [3, 1, 2], causal=False)
    return {"output": output}


@probe(*SIZES)
def probe_steps_with_rope(student, draw, **sizes):
    setting = Setting(student, draw, sizes, use_rope=True)
    output, _ = setting.decode(setting.tokens(LENGTH), CHUNKS)
    return {"output": output}


@probe(*SIZES)
def probe_steps_with_padding(student, draw, **sizes):
    setting = Setting(student, draw, sizes)
    x, valid = setting.tokens(LENGTH), setting.ragged()
    output, caches = setting.decode(x, CHUNKS, valid=valid)
    held = read(caches[-1])
    after, _ = setting.decode(setting.tokens(1), [1], cache=caches[-1])
    length = torch.tensor(held.length)
    return {"output": output, "after": after, "mask": held.key_padding_mask, "length": length}


@probe(*SIZES)
def probe_steps_with_padding_and_rope(student, draw, **sizes):
    setting = Setting(student, draw, sizes, use_rope=True)
    output, _ = setting.decode(setting.tokens(LENGTH), CHUNKS, valid=setting.ragged())
    return {"output": output}


@probe(*SIZES)
def probe_steps_with_a_mask(student, draw, **sizes):
    setting = Setting(student, draw, sizes)
    mask = draw.mask(LENGTH, LENGTH)
    mask[:, 0] = True
    output, _ = setting.decode(setting.tokens(LENGTH), CHUNKS, mask=mask)
    return {"output": output}


@probe(*SIZES)
def probe_two_continuations(student, draw, **sizes):
    setting = Setting(student, draw, sizes)
    _, (old,) = setting.decode(setting.tokens(3), [3])
    one, longer = setting.decode(setting.tokens(1), [1], cache=old)
    two, _ = setting.decode(setting.tokens(2), [2], cache=old)
    three, _ = setting.decode(setting.tokens(1), [1], cache=longer[-1])
    length = torch.tensor(read(old).length)
    return {"one": one, "two": two, "three": three, "length": length}


@probe(*SIZES)
def probe_two_prompts(student, draw, **sizes):
    setting = Setting(student, draw, sizes)
    setting.decode(setting.tokens(3), [2, 1])
    output, _ = setting.decode(setting.tokens(3), [2, 1])
    return {"second": output} | setting.run(setting.query, causal=True)


@probe(*SIZES)
def probe_cache_made_by_hand(student, draw, **sizes):
    setting = Setting(student, draw, sizes)
    shape = (setting.batch, setting.heads, 4, sizes["width"])
    given = {"key": draw.normal(*shape), "value": draw.normal(*shape)}
    cache = student.KVCache(**given, key_padding_mask=draw.mask(setting.batch, 4))
    output, _ = setting.decode(setting.tokens(2), [2], cache=cache)
    return {"output": output, "length": torch.tensor(read(cache).length)}


# -- what is refused -------------------------------------------------------------------------------


def kind_of_error(call, *arguments, **options):
    """0: none, 1: what stands for wrong sizes, 2: TypeError, 3: another one."""
    kind = 0
    try:
        call(*arguments, **options)
    except (ValueError, AssertionError):
        kind = 1
    except TypeError:
        kind = 2
    except CALLS_ERRORS:
        kind = 3
    return torch.tensor(kind)


@probe(*SIZES)
def probe_sizes_refused(student, draw, **sizes):
    # An odd width in both sizes, and a number of heads that does not divide it.
    heads, full = sizes["heads"], sizes["heads"] * 5
    weights, x = random_weights(draw, full), draw.normal(sizes["batch"], 3, full)

    def call(heads=heads, **options):
        made = student.CachedMultiHeadAttention(embed_dim=full, num_heads=heads, **options)
        made(x)

    plain = module(student, weights, embed_dim=full, num_heads=heads)
    return {
        "heads": kind_of_error(call, heads=4),
        "odd": kind_of_error(call, use_rope=True),
        "plain": kind_of_error(plain, x),
    }


@probe(*SIZES)
def probe_tokens_refused(student, draw, **sizes):
    setting = Setting(student, draw, sizes)
    attention, query, key_value = setting.attention, setting.query, setting.key_value
    return {
        "none": kind_of_error(attention, query[:, :0].contiguous()),
        "rank": kind_of_error(attention, query[0].contiguous()),
        "width": kind_of_error(attention, query, key_value[..., 1:].contiguous()),
        "batch": kind_of_error(attention, query, key_value[:1].contiguous()),
    }


@probe(*SIZES)
def probe_masks_refused(student, draw, **sizes):
    setting = Setting(student, draw, sizes)
    batch, heads = setting.batch, setting.heads
    queries, keys = setting.queries, setting.keys
    names = {
        "attention_mask": ((queries, keys), [(1, keys), (1, queries, keys), (batch, heads, 1, 1)]),
        "key_padding_mask": ((batch, keys), [(1, keys), (batch, queries)]),
        "query_padding_mask": ((batch, queries), [(1, queries), (batch, keys)]),
    }
    found = {}
    for name, (right, wrong) in names.items():
        for number, shape in enumerate(wrong):
            mask = {name: setting.ones(*shape)}
            found[f"{name}/{number}"] = kind_of_error(
                setting.attention, setting.query, setting.key_value, **mask
            )
        mask = {name: setting.ones(*right).to(torch.uint8)}
        found[f"{name}/dtype"] = kind_of_error(
            setting.attention, setting.query, setting.key_value, **mask
        )
    return found


@probe(*SIZES)
def probe_queries_without_keys(student, draw, **sizes):
    setting = Setting(student, draw, sizes)
    batch, queries = setting.batch, setting.queries
    attention, query = setting.attention, setting.query
    one = setting.ones(batch, setting.heads, queries, queries)
    one[1, 1, 2] = False
    all_heads = setting.ones(batch, setting.heads, queries, queries)
    all_heads[1, :, 2] = False
    valid = setting.ones(batch, queries)
    valid[1, 0] = False
    masks = {"key_padding_mask": valid, "query_padding_mask": valid, "causal": True}
    return {
        "one": kind_of_error(attention, query, attention_mask=one),
        "all": kind_of_error(attention, query, attention_mask=all_heads),
        "padding": kind_of_error(attention, query, key_padding_mask=valid, causal=True),
        "excused": kind_of_error(attention, query, **masks),
        "offsets": kind_of_error(attention, query, setting.key_value, causal=True)
        if queries == 1
        else kind_of_error(attention, query, setting.key_value, causal=True, key_position_offset=1),
    }


@probe(*SIZES)
def probe_offsets_refused(student, draw, **sizes):
    setting = Setting(student, draw, sizes)
    tokens = setting.query, setting.key_value
    return {
        "query": kind_of_error(setting.attention, *tokens, query_position_offset=-1),
        "key": kind_of_error(setting.attention, *tokens, key_position_offset=-1),
        "self": kind_of_error(setting.attention, setting.query, key_position_offset=-1),
    }


@probe(*SIZES)
def probe_caches_refused(student, draw, **sizes):
    setting = Setting(student, draw, sizes, dropout=0.5)
    attention, x = setting.attention, setting.tokens(2)
    _, cache = step(attention, setting.query, causal=True)
    found = {
        "unused": kind_of_error(attention, x, cache=cache),
        "cross": kind_of_error(attention, x, setting.key_value, use_cache=True),
        "itself": kind_of_error(attention, x, x, use_cache=True),
    }
    found["training"] = kind_of_error(attention.train(), x, use_cache=True)
    plain = module(
        student, setting.weights, embed_dim=setting.full, num_heads=setting.heads
    ).train()
    return found | {"no dropout": kind_of_error(plain, x, use_cache=True)}


@probe(*SIZES)
def probe_cached_offsets_refused(student, draw, **sizes):
    setting = Setting(student, draw, sizes)
    attention, x, length = setting.attention, setting.tokens(2), setting.queries
    _, cache = step(attention, setting.query, causal=True)
    options = {"cache": cache, "use_cache": True}
    return {
        "early": kind_of_error(attention, x, query_position_offset=0, **options),
        "right": kind_of_error(attention, x, query_position_offset=length, **options),
        "late": kind_of_error(attention, x, query_position_offset=length + 1, **options),
        "key": kind_of_error(attention, x, key_position_offset=length, **options),
        "prompt": kind_of_error(attention, x, query_position_offset=1, use_cache=True),
    }


@probe(*SIZES)
def probe_foreign_caches_refused(student, draw, **sizes):
    setting, width = Setting(student, draw, sizes), sizes["width"]
    x, found = setting.tokens(2), {}
    for name, batch, heads, columns in (
        ("batch", 1, setting.heads, width),
        ("heads", setting.batch, setting.heads + 1, width),
        ("width", setting.batch, setting.heads, width + 2),
    ):
        full = heads * columns
        other = module(student, random_weights(draw, full), embed_dim=full, num_heads=heads)
        _, cache = step(other, draw.normal(batch, 3, full), causal=True)
        found[name] = kind_of_error(setting.attention, x, cache=cache, use_cache=True)
    return found


# -- the rest --------------------------------------------------------------------------------------


@probe(*SIZES)
def probe_parameters(student, draw, **sizes):
    heads, full = sizes["heads"], sizes["heads"] * sizes["width"]
    weights, x = random_weights(draw, full), draw.normal(2, 3, full)
    found = {}
    for bias in (True, False):
        made = module(student, weights, embed_dim=full, num_heads=heads, bias=bias)
        run(made, x)
        found[str(bias)] = torch.tensor(sum(p.numel() for p in made.parameters()))
    return found


@probe(*SIZES)
def probe_dropout(student, draw, **sizes):
    """No random numbers: what is dropped, how much of it, and what becomes of the rest."""
    rate, heads, width = 0.4, sizes["heads"], sizes["width"] * 2
    full = heads * width
    columns = torch.tensor([full - 2, full - 1]).repeat(full // 2)
    eye = torch.eye(full)
    weights = random_weights(draw, full) | {"W_v": eye[columns], "W_o": eye}
    mine = module(student, weights, embed_dim=full, num_heads=heads, dropout=rate)
    key_value = draw.normal(2, 2, full)
    key_value[..., -2:] = torch.eye(2)
    query = draw.normal(2, 300, full)
    kept, again = run(mine, query, key_value), run(mine, query, key_value)
    mine.train()
    dropped = run(mine, query, key_value)
    shown = dropped.unflatten(-1, (heads, width // 2, 2))
    share = ((shown == 0).all(dim=-2)).double().mean()
    ratios = dropped[dropped != 0] / kept[dropped != 0] * (1 - rate)
    return {
        "eval": torch.tensor(torch.equal(kept, again)),
        "training": torch.tensor(torch.equal(kept, dropped)),
        "share": torch.tensor(round(float(share) * 5)),
        # With a second dropout on the output, which is allowed, what survives grows twice.
        "grown": torch.tensor(
            any(bool(((ratios - by).abs() < 1e-3).all()) for by in (1.0, 1 / (1 - rate)))
        ),
    }


@probe(*SIZES)
def probe_gradients(student, draw, **sizes):
    setting = Setting(student, draw, sizes, use_rope=True)
    leaves = [tensor.requires_grad_() for tensor in (setting.query, setting.key_value)]
    output = run(setting.attention, *leaves)
    if not output.requires_grad:
        return {}
    total = (output * draw.normal(*output.shape)).sum()
    found = torch.autograd.grad(total, leaves, allow_unused=True)
    named = zip(("query", "key_value"), found, strict=True)
    return {name: gradient for name, gradient in named if gradient is not None}


@probe(*SIZES)
def probe_dtypes(student, draw, **sizes):
    found = {}
    for dtype in (torch.float64, torch.bfloat16):
        for rope in (False, True):
            setting = Setting(student, draw, sizes, dtype=dtype, use_rope=rope)
            kind = torch.tensor(0.0)
            try:
                output = run(setting.attention, setting.query.to(dtype), causal=True)
            except CALLS_ERRORS:
                kind = torch.tensor(1)
            else:
                kind = torch.zeros(1, dtype=output.dtype)
            # Right answers round at different places; only the dtype is compared.
            found[f"{dtype}/{rope}"] = kind
    return found


@probe(*SIZES)
def probe_inputs_afterwards(student, draw, **sizes):
    setting = Setting(student, draw, sizes)
    mask = draw.mask(setting.queries, setting.keys)
    named = {
        "query": setting.query,
        "key_value": setting.key_value,
        "attention_mask": mask,
        "key_padding_mask": setting.ones(setting.batch, setting.keys),
        "query_padding_mask": draw.mask(setting.batch, setting.queries),
    }
    masks = {name: tensor for name, tensor in named.items() if name.endswith("mask")}
    run(setting.attention, setting.query, setting.key_value, **masks)
    return named


@probe(*SIZES)
def probe_not_contiguous(student, draw, **sizes):
    setting = Setting(student, draw, sizes)
    key_value = draw.normal(setting.keys, setting.batch, setting.full).transpose(0, 1)
    query = draw.normal(setting.batch, setting.full, setting.queries).transpose(1, 2)
    return setting.run(query, key_value)


@probe({"heads": 1, "width": 4, "queries": 1}, {"heads": 2, "width": 2, "queries": 3})
def probe_axes_of_size_one(student, draw, heads, width, queries):
    sizes = {"batch": 1, "heads": heads, "width": width, "queries": queries, "keys": 1}
    setting = Setting(student, draw, sizes)
    return setting.run(setting.query, setting.key_value)


__all__ = [name for name in dir() if name.startswith("probe_")]
