"""Probes of `cached_mha`: what tells one misconception about it from another.

Random numbers come from `draw.normal` and `draw.mask` alone, which are replayed. Of rules that
refuse a call only the kind of error is observed: everybody's words are their own.
"""

import functools

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
        self.batch, self.heads, self.width = sizes["batch"], sizes["heads"], sizes["width"]
        self.queries, self.keys = sizes["queries"], sizes["keys"]
        self.full = self.heads * self.width
        self.draw, self.student = draw, student
        self.weights = random_weights(draw, self.full) if weights is None else weights
        self.options = options
        self.attention = self.another()
        self.query, self.key_value = self.tokens(self.queries), self.tokens(self.keys)
        self.mask = (self.queries, self.keys)
        """The shape of a mask for cross-attention, the same for every sequence and head."""

    def another(self, **options):
        sizes = {"embed_dim": self.full, "num_heads": self.heads}
        return module(self.student, self.weights, **sizes, **self.options | options)

    def tokens(self, length):
        return self.draw.normal(self.batch, length, self.full)

    def ones(self, *shape):
        return torch.ones(shape, dtype=torch.bool)

    def ragged(self):
        valid = self.draw.mask(self.batch, LENGTH)
        valid[:, 0], valid[0, 1], valid[1, 1], valid[1, 3] = True, False, True, False
        return valid

    def self_attention(self, **options):
        return run(self.attention, self.query, **options)

    def cross_attention(self, **options):
        return run(self.attention, self.query, self.key_value, **options)

    def decode(self, x, chunks, **options):
        return decode(self.attention, x, chunks, **options)

    def steps(self, chunks=CHUNKS, **options):
        """Outputs and caches of new tokens that come in chunks."""
        return self.decode(self.tokens(LENGTH), chunks, **options)

    def error(self, *tokens, **options):
        return kind_of_error(self.attention, *tokens, **options)


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


def about(*sizes, **options):
    """Declares a probe that looks at one ``Setting``; ``options`` are its module's."""

    def declare(look):
        @probe(*sizes)
        @functools.wraps(look)
        def looks(student, draw, **sizes):
            return look(Setting(student, draw, sizes, **options))

        return looks

    return declare


# -- one pass --------------------------------------------------------------------------------------


@about(*SIZES)
def probe_self(setting):
    return {"output": setting.self_attention()}


@about(*SIZES)
def probe_cross(setting):
    return {"output": setting.cross_attention()}


@about(*SIZES)
def probe_causal(setting):
    return {"output": setting.self_attention(causal=True)}


@about(*SIZES)
def probe_masks(setting):
    batch, heads, found = setting.batch, setting.heads, {}
    for name, front in (("two", ()), ("batch", (batch, 1)), ("heads", (batch, heads))):
        mask = setting.draw.mask(*front, *setting.mask)
        mask[..., 0, 0], mask[..., 0, 1] = False, True
        found[name] = setting.cross_attention(attention_mask=mask)
    return found


@about(*SIZES)
def probe_masks_of_sequences(setting):
    mask = setting.draw.mask(setting.batch, *setting.mask)
    return {"output": setting.cross_attention(attention_mask=mask)}


@about(*AS_MANY_HEADS)
def probe_masks_of_as_many_sequences(setting):
    mask = setting.draw.mask(setting.batch, *setting.mask)
    return {"output": setting.cross_attention(attention_mask=mask)}


@about(*SIZES)
def probe_key_padding(setting):
    valid = setting.draw.mask(setting.batch, setting.keys)
    return {"output": setting.cross_attention(key_padding_mask=valid)}


@about(*SIZES)
def probe_key_padding_of_self(setting):
    valid = setting.draw.mask(setting.batch, setting.queries)
    mask = setting.draw.mask(setting.queries, setting.queries) | valid[0]
    mask = mask.expand(setting.batch, *mask.shape) | valid[:, None]
    return {"output": setting.self_attention(key_padding_mask=valid, attention_mask=mask)}


@about(*SIZES)
def probe_query_padding(setting):
    attention = setting.another(output_bias=setting.draw.normal(setting.full))
    valid = setting.draw.mask(setting.batch, setting.queries)
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
    mask = torch.eye(*setting.mask, dtype=torch.bool)
    return {"output": setting.cross_attention(attention_mask=mask)}


@about(*SIZES)
def probe_large_scores(setting):
    return {"output": run(setting.attention, setting.query * 9, setting.key_value * 9)}


# -- positions -------------------------------------------------------------------------------------


@about(*SIZES)
def probe_causal_offsets(setting):
    offsets = {"query_position_offset": 3, "key_position_offset": 2}
    return {"output": setting.cross_attention(causal=True, **offsets)}


@about(*SIZES)
def probe_causal_offset_of_self(setting):
    return {"output": setting.self_attention(causal=True, key_position_offset=2)}


@about(*SIZES, use_rope=True)
def probe_rope(setting):
    return {"output": setting.self_attention()}


@about(*SIZES, use_rope=True)
def probe_rope_offsets(setting):
    return {
        "queries": setting.cross_attention(query_position_offset=5),
        "keys": setting.cross_attention(key_position_offset=7),
        "self": setting.self_attention(key_position_offset=4),
        "both": setting.self_attention(query_position_offset=2, key_position_offset=6),
    }


# -- cache -----------------------------------------------------------------------------------------


@about(*SIZES)
def probe_prompt(setting):
    output, cache = step(setting.attention, setting.query, causal=True)
    held = read(cache)._asdict()
    return {"output": output} | held | {"length": torch.tensor(held["length"])}


@about(*SIZES)
def probe_steps(setting):
    output, caches = setting.steps()
    held = read(caches[-1])
    return {"output": output, "key": held.key, "length": torch.tensor(held.length)}


@about(*SIZES)
def probe_steps_without_causal(setting):
    return {"output": setting.steps([3, 1, 2], causal=False)[0]}


@about(*SIZES, use_rope=True)
def probe_steps_with_rope(setting):
    return {"output": setting.steps()[0]}


@about(*SIZES)
def probe_steps_with_padding(setting):
    output, caches = setting.steps(valid=setting.ragged())
    held = read(caches[-1])
    after, _ = setting.decode(setting.tokens(1), [1], cache=caches[-1])
    length = torch.tensor(held.length)
    return {"output": output, "after": after, "mask": held.key_padding_mask, "length": length}


@about(*SIZES, use_rope=True)
def probe_steps_with_padding_and_rope(setting):
    return {"output": setting.steps(valid=setting.ragged())[0]}


@about(*SIZES)
def probe_steps_with_a_mask(setting):
    mask = setting.draw.mask(LENGTH, LENGTH)
    mask[:, 0] = True
    return {"output": setting.steps(mask=mask)[0]}


@about(*SIZES)
def probe_two_continuations(setting):
    _, (old,) = setting.decode(setting.tokens(3), [3])
    one, longer = setting.decode(setting.tokens(1), [1], cache=old)
    two, _ = setting.decode(setting.tokens(2), [2], cache=old)
    three, _ = setting.decode(setting.tokens(1), [1], cache=longer[-1])
    length = torch.tensor(read(old).length)
    return {"one": one, "two": two, "three": three, "length": length}


@about(*SIZES)
def probe_two_prompts(setting):
    setting.decode(setting.tokens(3), [2, 1])
    output, _ = setting.decode(setting.tokens(3), [2, 1])
    return {"second": output, "output": setting.self_attention(causal=True)}


@about(*SIZES)
def probe_cache_made_by_hand(setting):
    shape = (setting.batch, setting.heads, 4, setting.width)
    given = {"key": setting.draw.normal(*shape), "value": setting.draw.normal(*shape)}
    cache = setting.student.KVCache(**given, key_padding_mask=setting.draw.mask(setting.batch, 4))
    output, _ = setting.decode(setting.tokens(2), [2], cache=cache)
    return {"output": output, "length": torch.tensor(read(cache).length)}


# -- what is refused -------------------------------------------------------------------------------


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


@about(*SIZES)
def probe_tokens_refused(setting):
    query, key_value = setting.query, setting.key_value
    return {
        "none": setting.error(query[:, :0].contiguous()),
        "rank": setting.error(query[0].contiguous()),
        "width": setting.error(query, key_value[..., 1:].contiguous()),
        "batch": setting.error(query, key_value[:1].contiguous()),
    }


@about(*SIZES)
def probe_masks_refused(setting):
    batch, heads, (queries, keys) = setting.batch, setting.heads, setting.mask
    tokens = setting.query, setting.key_value
    names = {
        "attention_mask": ((queries, keys), [(1, keys), (1, queries, keys), (batch, heads, 1, 1)]),
        "key_padding_mask": ((batch, keys), [(1, keys), (batch, queries)]),
        "query_padding_mask": ((batch, queries), [(1, queries), (batch, keys)]),
    }
    found = {}
    for name, (right, wrong) in names.items():
        for number, shape in enumerate(wrong):
            found[f"{name}/{number}"] = setting.error(*tokens, **{name: setting.ones(*shape)})
        mask = setting.ones(*right).to(torch.uint8)
        found[f"{name}/dtype"] = setting.error(*tokens, **{name: mask})
    return found


@about(*SIZES)
def probe_queries_without_keys(setting):
    batch, queries, query = setting.batch, setting.queries, setting.query
    one = setting.ones(batch, setting.heads, queries, queries)
    one[1, 1, 2] = False
    all_heads = setting.ones(batch, setting.heads, queries, queries)
    all_heads[1, :, 2] = False
    valid = setting.ones(batch, queries)
    valid[1, 0] = False
    masks = {"key_padding_mask": valid, "query_padding_mask": valid, "causal": True}
    return {
        "one": setting.error(query, attention_mask=one),
        "all": setting.error(query, attention_mask=all_heads),
        "padding": setting.error(query, key_padding_mask=valid, causal=True),
        "excused": setting.error(query, **masks),
        "offsets": setting.error(query, setting.key_value, causal=True, key_position_offset=1),
    }


@about(*SIZES)
def probe_offsets_refused(setting):
    tokens = setting.query, setting.key_value
    return {
        "query": setting.error(*tokens, query_position_offset=-1),
        "key": setting.error(*tokens, key_position_offset=-1),
        "self": setting.error(setting.query, key_position_offset=-1),
    }


@about(*SIZES, dropout=0.5)
def probe_caches_refused(setting):
    attention, x = setting.attention, setting.tokens(2)
    _, cache = step(attention, setting.query, causal=True)
    plain = setting.another(dropout=0.0).train()
    return {
        "unused": setting.error(x, cache=cache),
        "cross": setting.error(x, setting.key_value, use_cache=True),
        "itself": setting.error(x, x, use_cache=True),
        "training": kind_of_error(attention.train(), x, use_cache=True),
        "no dropout": kind_of_error(plain, x, use_cache=True),
    }


@about(*SIZES)
def probe_cached_offsets_refused(setting):
    x, length = setting.tokens(2), setting.queries
    _, cache = step(setting.attention, setting.query, causal=True)
    options = {"cache": cache, "use_cache": True}
    return {
        "early": setting.error(x, query_position_offset=0, **options),
        "right": setting.error(x, query_position_offset=length, **options),
        "late": setting.error(x, query_position_offset=length + 1, **options),
        "key": setting.error(x, key_position_offset=length, **options),
        "prompt": setting.error(x, query_position_offset=1, use_cache=True),
    }


@about(*SIZES)
def probe_foreign_caches_refused(setting):
    student, draw, width = setting.student, setting.draw, setting.width
    x, found = setting.tokens(2), {}
    for name, batch, heads, columns in (
        ("batch", 1, setting.heads, width),
        ("heads", setting.batch, setting.heads + 1, width),
        ("width", setting.batch, setting.heads, width + 2),
    ):
        full = heads * columns
        other = module(student, random_weights(draw, full), embed_dim=full, num_heads=heads)
        _, cache = step(other, draw.normal(batch, 3, full), causal=True)
        found[name] = setting.error(x, cache=cache, use_cache=True)
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


@about(*SIZES, use_rope=True)
def probe_gradients(setting):
    leaves = [tensor.requires_grad_() for tensor in (setting.query, setting.key_value)]
    output = run(setting.attention, *leaves)
    if not output.requires_grad:
        return {}
    total = (output * setting.draw.normal(*output.shape)).sum()
    found = torch.autograd.grad(total, leaves, allow_unused=True)
    named = zip(("query", "key_value"), found, strict=True)
    return {name: gradient for name, gradient in named if gradient is not None}


@probe(*SIZES)
def probe_dtypes(student, draw, **sizes):
    found = {}
    for dtype in (torch.float64, torch.bfloat16):
        for rope in (False, True):
            setting = Setting(student, draw, sizes, dtype=dtype, use_rope=rope)
            try:
                output = run(setting.attention, setting.query.to(dtype), causal=True)
            except CALLS_ERRORS:
                kind = torch.tensor(1)
            else:
                kind = torch.zeros(1, dtype=output.dtype)
            # Right answers round at different places; only the dtype is compared.
            found[f"{dtype}/{rope}"] = kind
    return found


@about(*SIZES)
def probe_inputs_afterwards(setting):
    mask = setting.draw.mask(*setting.mask)
    named = {
        "query": setting.query,
        "key_value": setting.key_value,
        "attention_mask": mask,
        "key_padding_mask": setting.ones(setting.batch, setting.keys),
        "query_padding_mask": setting.draw.mask(setting.batch, setting.queries),
    }
    masks = {name: tensor for name, tensor in named.items() if name.endswith("mask")}
    setting.cross_attention(**masks)
    return named


@about(*SIZES)
def probe_not_contiguous(setting):
    key_value = setting.draw.normal(setting.keys, setting.batch, setting.full).transpose(0, 1)
    query = setting.draw.normal(setting.batch, setting.full, setting.queries).transpose(1, 2)
    return {"output": run(setting.attention, query, key_value)}


@probe({"heads": 1, "width": 4, "queries": 1}, {"heads": 2, "width": 2, "queries": 3})
def probe_axes_of_size_one(student, draw, heads, width, queries):
    sizes = {"batch": 1, "heads": heads, "width": width, "queries": queries, "keys": 1}
    setting = Setting(student, draw, sizes)
    return {"output": setting.cross_attention()}


__all__ = [name for name in dir() if name.startswith("probe_")]
