"""Probes of `rope`: what tells one misconception about it from another.

Random numbers come from `draw.normal` alone, which is replayed. Far positions and bfloat16 have
more than one right answer within rounding, so that of them only what is plainly wrong is observed.
Lengths, and speeds without their sign, are right for whoever has another part wrong: that leaves
few candidates where two misconceptions come together.
"""

import support_rotary as rotary
import torch

from grader.suite import probe

SIZES = (
    {"batch": 2, "heads": 3, "length": 5, "width": 8},
    {"batch": 3, "heads": 2, "length": 4, "width": 6},
)
AS_MANY_HEADS = (
    {"batch": 3, "heads": 3, "length": 5, "width": 8},
    {"batch": 2, "heads": 2, "length": 4, "width": 6},
)
SLOW = 40.0
"""A base with which every pair visibly turns within a few positions."""


def vectors(draw, batch, heads, length, width, **options):
    return draw.normal(batch, heads, length, width, **options)


def in_another_order(length):
    """Positions (T,) with a gap and a repetition, that do not rise."""
    return torch.tensor([4, 0, 7, 4, 1])[:length]


def of_each_item(batch, length):
    """Positions (B, T), another row for each item."""
    return torch.stack([in_another_order(length) + 3 * item for item in range(batch)])


def call(rope, x, **options):
    return {"output": rope(x, **options)}


@probe(*SIZES)
def probe_defaults(student, draw, **sizes):
    return call(student.RotaryEmbedding(), vectors(draw, **sizes))


@probe(*SIZES)
def probe_at_rest(student, draw, **sizes):
    positions = torch.zeros(sizes["length"], dtype=torch.int64)
    return call(student.RotaryEmbedding(base=SLOW), vectors(draw, **sizes), positions=positions)


@probe(*SIZES)
def probe_lengths(student, draw, **sizes):
    output = student.RotaryEmbedding(base=SLOW)(vectors(draw, **sizes))
    return {
        "length": output.norm(dim=-1),
        "length of pairs": output.unflatten(-1, (-1, 2)).norm(dim=-1),
    }


@probe(*SIZES)
def probe_speeds(student, draw, batch, heads, length, width):
    x = draw.normal(batch, heads, 1, width).expand(-1, -1, length, -1).clone()
    output = student.RotaryEmbedding(base=SLOW)(x).detach().double()
    pairs = torch.view_as_complex(output.reshape(*output.shape[:-1], -1, 2).contiguous())
    return {"speed": (pairs[:, :, 1:] * pairs[:, :, :-1].conj()).angle().abs()}


@probe(*SIZES)
def probe_base(student, draw, **sizes):
    return call(student.RotaryEmbedding(base=SLOW), vectors(draw, **sizes))


@probe(*SIZES)
def probe_offset(student, draw, **sizes):
    return call(student.RotaryEmbedding(base=SLOW), vectors(draw, **sizes), offset=3)


@probe(*SIZES)
def probe_one_vector_with_offset(student, draw, **sizes):
    x = vectors(draw, **sizes | {"length": 1})
    return call(student.RotaryEmbedding(base=SLOW), x, offset=3)


@probe(*SIZES)
def probe_positions(student, draw, **sizes):
    positions = in_another_order(sizes["length"])
    return call(student.RotaryEmbedding(base=SLOW), vectors(draw, **sizes), positions=positions)


@probe(*SIZES)
def probe_positions_of_items(student, draw, **sizes):
    positions = of_each_item(sizes["batch"], sizes["length"])
    return call(student.RotaryEmbedding(base=SLOW), vectors(draw, **sizes), positions=positions)


@probe(*AS_MANY_HEADS)
def probe_positions_of_as_many_items(student, draw, **sizes):
    positions = of_each_item(sizes["batch"], sizes["length"])
    return call(student.RotaryEmbedding(base=SLOW), vectors(draw, **sizes), positions=positions)


@probe(*SIZES)
def probe_positions_and_offset(student, draw, **sizes):
    rope, x = student.RotaryEmbedding(base=SLOW), vectors(draw, **sizes)
    return call(rope, x, offset=2, positions=in_another_order(sizes["length"]))


@probe(*SIZES)
def probe_far(student, draw, **sizes):
    rope, x = student.RotaryEmbedding(), vectors(draw, **sizes)
    found = {}
    for offset in (600, 3000):
        output, positions = rope(x, offset=offset), offset + torch.arange(sizes["length"])
        found[f"wrong at {offset}"] = wrong(output, x, positions)
    return found


@probe(*SIZES)
def probe_odd_width(student, draw, **sizes):
    rope = student.RotaryEmbedding()
    try:
        rope(vectors(draw, **sizes | {"width": sizes["width"] + 1}))
    except ValueError:
        return {"error": torch.tensor(1)}
    except (RuntimeError, IndexError):
        # Nobody looked at the width; whether torch minds is by chance.
        return {"error": torch.tensor(0)}
    return {"error": torch.tensor(0)}


@probe(*SIZES)
def probe_one_item_and_head(student, draw, **sizes):
    return call(student.RotaryEmbedding(), vectors(draw, **sizes | {"batch": 1, "heads": 1}))


@probe(*SIZES)
def probe_float64(student, draw, **sizes):
    return call(student.RotaryEmbedding(), vectors(draw, **sizes, dtype=torch.float64))


@probe(*SIZES)
def probe_bfloat16(student, draw, **sizes):
    rope, x = student.RotaryEmbedding(), vectors(draw, **sizes, dtype=torch.bfloat16)
    output, positions = rope(x, offset=254), 254 + torch.arange(sizes["length"])
    return {"dtype": output.new_zeros(1), "wrong": wrong(output, x, positions)}


@probe(*SIZES)
def probe_meta(student, draw, batch, heads, length, width):
    rope = student.RotaryEmbedding()
    return call(rope.to("meta"), torch.empty(batch, heads, length, width, device="meta"))


@probe(*SIZES)
def probe_not_contiguous(student, draw, batch, heads, length, width):
    x = draw.normal(batch, length, heads, width).transpose(1, 2)
    return call(student.RotaryEmbedding(), x)


@probe(*SIZES)
def probe_gradient(student, draw, **sizes):
    rope, x = student.RotaryEmbedding(), vectors(draw, **sizes, requires_grad=True)
    cotangent = vectors(draw, **sizes)
    try:
        (rope(x) * cotangent).sum().backward()
    except RuntimeError:
        # No graph, or one that was written into: torch has many words for it.
        return {"gradient": torch.zeros(0)}
    learned = sum(parameter.grad is not None for parameter in rope.parameters())
    gradient = torch.zeros(0) if x.grad is None else x.grad
    return {"gradient": gradient, "learned": torch.tensor(learned)}


@probe(*SIZES)
def probe_inputs_afterwards(student, draw, **sizes):
    x, positions = vectors(draw, **sizes), in_another_order(sizes["length"]).clone()
    student.RotaryEmbedding()(x, offset=2, positions=positions)
    return {"x": x, "positions": positions}


@probe(*SIZES)
def probe_later_calls(student, draw, **sizes):
    rope, other = student.RotaryEmbedding(base=SLOW), student.RotaryEmbedding(base=5.0)
    x = vectors(draw, **sizes)
    rope(x.clone())
    wider = vectors(draw, **sizes | {"width": sizes["width"] + 4})
    return {
        "another offset": rope(x.clone(), offset=4),
        "another base": other(x.clone()),
        "another width": rope(wider),
    }


def wrong(output, x, positions):
    """Whether a number is off by more than rounding can explain, as a tensor."""
    if output.shape != x.shape:
        return torch.tensor(1.0)
    apart = (output.detach().double() - rotary.turn(x, positions)).abs()
    return (~(apart < 0.1)).any().double()
