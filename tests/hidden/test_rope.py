"""Hidden suite of `rope`.

Keeping lengths and depending on distances only are properties of most wrong answers too, so values
decide: at small and large positions, under offsets, and for positions in any order. Every size is
distinct: B 2, H 3, T 5, D 8, so four pairs.
"""

import pytest
import support_rotary as rotary
import torch
from support_rope_probes import *  # noqa: F403

from grader.suite import (
    STACK,
    CheckFailure,
    assert_close,
    assert_dtype,
    assert_finite,
    assert_raises,
    assert_same_gradients,
    assert_shape,
    assert_unchanged,
    check,
)

B, H, T, D = 2, 3, 5, 8
FAR = (0.0, 1e-3)
"""Tolerance beyond position 256, where float32 angles lose digits."""


def sizes(batch=B, heads=H, length=T, width=D):
    """The axes of x with their letters."""
    return [("B", batch), ("H", heads), ("T", length), ("D", width)]


def turned_by(rope, x, **options):
    """What ``rope`` makes of copies: one that writes into its inputs is told so by one check."""
    copies = {
        name: value.clone() if isinstance(value, torch.Tensor) else value
        for name, value in options.items()
    }
    return rope(x.clone(), **copies)


def largest(difference):
    """The largest absolute number."""
    return float(difference.detach().abs().max())


def as_wide(positions):
    """Positions (T,) or (B, T) so that they broadcast over x (B, H, T, D)."""
    return positions if positions.dim() == 1 else positions[:, None]


# -- form ------------------------------------------------------------------------------------------


@check(
    "shape",
    points=2,
    title="The output has the shape of the input, whatever the sizes",
    hint="Write the shape of each intermediate result beside its line. Which line changes axes?",
)
@pytest.mark.parametrize(
    "size", [(B, H, T, D), (4, 2, 3, 6), (3, 5, 7, 2)], ids=["usual", "fewer", "one-pair"]
)
def test_shapes(student, draw, size):
    output = turned_by(student.RotaryEmbedding(), draw.normal(*size))
    assert_shape(output, sizes(*size), "output")


@check(
    "shape",
    points=1,
    title="Axes of size 1 stay: one item, one head, one vector",
    hint="Does something drop axes of size 1, such as squeeze()?",
)
@pytest.mark.parametrize(
    "size",
    [(1, H, T, D), (B, 1, T, D), (B, H, 1, D), (1, 1, 1, 2)],
    ids=["one-item", "one-head", "one-vector", "all-one"],
)
def test_axes_of_size_one(student, draw, size):
    rope = student.RotaryEmbedding()
    x = draw.normal(*size)
    positions = draw.integers(0, 20, size[0], size[2])
    assert_shape(turned_by(rope, x, offset=3), sizes(*size), "output")
    assert_shape(turned_by(rope, x, positions=positions), sizes(*size), "output")


@check(
    "errors",
    points=2,
    title="An odd width raises ValueError",
    hint="A column without a partner cannot turn. Where do you look at the width?",
)
@pytest.mark.parametrize("width", [1, 5, 9])
def test_odd_width(student, draw, width):
    rope = student.RotaryEmbedding()
    turned_by(rope, draw.normal(B, H, T, width + 1))
    for options in ({}, {"offset": 2}, {"positions": torch.arange(T)}):
        with assert_raises(ValueError, when="the width of x is odd"):
            turned_by(rope, draw.normal(B, H, T, width), **options)


@check(
    "parameters",
    points=1,
    title="Nothing here is learned: no parameter gets a gradient",
    hint="Are the base or the frequencies an nn.Parameter that wants a gradient?",
)
def test_nothing_is_learned(student, draw):
    rope = student.RotaryEmbedding()
    output = turned_by(rope, draw.normal(B, H, T, D, requires_grad=True), offset=1)
    assert_shape(output, sizes(), "output")
    if output.requires_grad:
        (output * draw.normal(*output.shape)).sum().backward()
    if any(parameter.grad is not None for parameter in rope.parameters()):
        raise CheckFailure("Your module has a parameter that training would change.")


# -- pairs and angles ------------------------------------------------------------------------------


@check(
    "positions",
    points=2,
    title="At position 0 nothing turns, and at every other position every pair does",
    hint="Which angle has position 0? Do all D columns take part?",
    shows="[1, 0, 1, 0] at the positions 0 to 3, base 100",
)
def test_every_pair_turns(student, draw):
    x = draw.normal(1, 1, 1, D).sign().expand(B, H, T, D).clone()
    output = turned_by(student.RotaryEmbedding(base=50.0), x)
    assert_shape(output, sizes(), "output")
    assert_finite(output, "output")
    assert_close(
        output[:, :, 0], x[:, :, 0], "output", message="Position 0 has angle 0, but it is turned."
    )
    # The slowest pair turns by 0.05 a position, and its columns are 1 or -1.
    moved = (output - x).abs().unflatten(-1, (D // 2, 2)).amax(-1)[:, :, 1:] > 1e-4
    if not bool(moved.any()):
        raise CheckFailure("Your vectors come back as they went in: nothing is turned.")
    if not bool(moved.any(2).all()):
        raise CheckFailure("Some columns are never turned: every pair of them has to be.")
    if not bool(moved.all()):
        raise CheckFailure("At some positions after 0, pairs are not turned.")


@check(
    "positions",
    points=3,
    title="The pairs are adjacent columns: 0 and 1, 2 and 3, ...",
    hint="Put a 1 into one column and 0 into the others. Which two columns come out non-zero?",
    shows="[1, 0, 1, 0] at the positions 0 to 3, base 100",
)
@pytest.mark.parametrize("width", [6, D])
def test_pairs_are_adjacent(student, draw, width):
    x = torch.eye(width)[None, :, None] * draw.uniform(B, 1, 2, 1, low=1.0, high=2.0)
    output = turned_by(student.RotaryEmbedding(base=50.0), x)
    assert_shape(output, sizes(B, width, 2, width), "output")
    assert_finite(output, "output")
    for column in range(width):
        reached = (output[:, column, 1].abs() > 1e-6).any(0).nonzero().flatten().tolist()
        if set(reached) == {column, column ^ 1}:
            continue
        if set(reached) == {column, (column + width // 2) % width}:
            raise CheckFailure(
                "You turn column i together with column i + D/2, as in the half-split layout. "
                "Here the pairs are adjacent columns, 2i and 2i + 1."
            )
        if set(reached) <= {column}:
            raise CheckFailure("A column is not mixed with its neighbour in the pair.")
        raise CheckFailure("A column is mixed with others than its neighbour in the pair.")


@check(
    "positions",
    points=3,
    title="Pair i turns by position x base^(-2i/D)",
    hint="Put [1, 0, 1, 0, ...] in. The angle of a pair of the result is atan2 of its columns.",
    shows="[1, 0, 1, 0] at the positions 0 to 3, base 100",
)
@pytest.mark.parametrize("width", [4, D, 10])
def test_angles(student, width):
    x = torch.tensor([1.0, 0.0]).repeat(width // 2).expand(B, H, 4, width).clone()
    output = turned_by(student.RotaryEmbedding(), x)
    assert_shape(output, sizes(B, H, 4, width), "output")
    rotary.assert_turned(output, x, torch.arange(4), "output")


@check(
    "positions",
    points=2,
    title="The base that was asked for is the base of the frequencies",
    hint="Where does your code use `base`, and where a number of its own?",
)
@pytest.mark.parametrize("base", [20.0, 500.0, 1e6])
def test_base(student, draw, base):
    x = draw.normal(B, H, T, D)
    usual = student.RotaryEmbedding()
    output = turned_by(student.RotaryEmbedding(base=base), x)
    assert_shape(output, sizes(), "output")
    if largest(output - rotary.turn(x, torch.arange(T))) < 1e-5:
        raise CheckFailure("Your base is 10000 whatever base was asked for.")
    rotary.assert_turned(output, x, torch.arange(T), "output", base=base)
    rotary.assert_turned(turned_by(usual, x), x, torch.arange(T), "output")


@check(
    "positions",
    points=2,
    title="Turned queries and keys compare by their distance alone, and all keep their length",
    hint="Move a query and a key on by the same number of positions. May their dot product change?",
)
def test_distance_and_length(student, draw):
    rope = student.RotaryEmbedding()
    query, key = (draw.normal(1, 1, 1, D).expand(B, H, T, D).clone() for _ in range(2))
    turned = turned_by(rope, query, offset=2)
    assert_shape(turned, sizes(), "output")
    assert_finite(turned, "output")

    assert_close(
        turned.norm(dim=-1),
        query.norm(dim=-1),
        "output",
        message="Turning keeps the length of a vector; some of yours change theirs.",
        tol=STACK,
    )
    scores = turned @ turned_by(rope, key, offset=9).transpose(-2, -1)
    moved = turned_by(rope, query, offset=32) @ turned_by(rope, key, offset=39).transpose(-2, -1)
    words = "The dot product of a turned query and key changes when both move by equal steps."
    assert_close(moved, scores, "output", message=words, tol=(1e-4, 1e-3))
    if largest(scores[0, 0, 0] - scores[0, 0, 0, 0]) < 1e-3:
        raise CheckFailure("The dot product does not depend on the distance.")


# -- which positions -------------------------------------------------------------------------------


@check(
    "positions",
    points=3,
    title="With an offset the first vector has position `offset`",
    hint="Is the offset counted once, for every vector, and not from 1?",
    shows="[1, 2, 3, 4] three times, offset 5, the usual base",
)
@pytest.mark.parametrize("offset", [1, 7, 40])
def test_offset(student, draw, offset):
    rope = student.RotaryEmbedding()
    x = draw.normal(B, H, T, D)
    output = turned_by(rope, x, offset=offset)
    assert_shape(output, sizes(), "output")
    if largest(output - rotary.turn(x, torch.arange(T))) < 1e-5:
        raise CheckFailure("The offset changes nothing in your output.")
    rotary.assert_turned(output, x, offset + torch.arange(T), "output")
    one = turned_by(rope, x[:, :, :1], offset=offset)
    rotary.assert_turned(one, x[:, :, :1], torch.tensor([offset]), "output")


@check(
    "positions",
    points=3,
    title="Positions (T,) in any order: each vector turns by its own",
    hint="Is the position of a vector its place in x, or what `positions` says?",
    shows="[1, 2, 3, 4] with positions of its own for each item of the batch, base 100",
)
@pytest.mark.parametrize("kind", ["shuffled", "with-gaps", "repeated"])
def test_positions_in_any_order(student, draw, kind):
    x = draw.normal(B, H, T, D)
    positions = {
        "shuffled": draw.permutation(T),
        "with-gaps": 3 + 7 * draw.permutation(T),
        "repeated": torch.tensor([4, 4, 0, 9, 4]),
    }[kind]
    output = turned_by(student.RotaryEmbedding(), x, positions=positions)
    assert_shape(output, sizes(), "output")
    if largest(output - rotary.turn(x, torch.arange(T))) < 1e-5:
        raise CheckFailure("The positions that were given change nothing in your output.")
    rotary.assert_turned(output, x, positions, "output")


@check(
    "positions",
    points=3,
    title="Positions (B, T): each item of the batch has its own, shared by its heads",
    hint="Which axis of x belongs to the first axis of positions? Try as many items as heads.",
    shows="[1, 2, 3, 4] with positions of its own for each item of the batch, base 100",
)
@pytest.mark.parametrize(
    "size", [(B, H, T), (3, 3, T), (4, 4, 4), (1, 3, T)], ids=["B<H", "B=H", "B=H=T", "B=1"]
)
def test_positions_of_each_item(student, draw, size):
    batch, heads, length = size
    x = draw.normal(*size, D)
    positions = torch.stack([draw.permutation(length) + 3 * item for item in range(batch)])
    output = turned_by(student.RotaryEmbedding(), x, positions=positions)
    assert_shape(output, sizes(*size), "output")
    if batch > 1:
        others = {
            "Your positions go with the heads; their first axis is the batch.": (
                positions[None, :] if batch == heads else None
            ),
            "Every item is turned by the positions of the first.": positions[:1, None],
        }
        for words, wrong in others.items():
            if wrong is None or torch.equal(wrong.expand(batch, heads, length), positions[:, None]):
                continue
            if largest(output - rotary.turn(x, wrong)) < 1e-4:
                raise CheckFailure(words)
    rotary.assert_turned(output, x, as_wide(positions), "output")


@check(
    "positions",
    points=1,
    title="Positions that are given take the offset's place: it is not added to them",
    hint="With both given, which of them decides?",
)
def test_positions_replace_the_offset(student, draw):
    rope = student.RotaryEmbedding()
    x = draw.normal(B, H, T, D)
    for positions in (draw.permutation(T), draw.integers(0, 30, B, T)):
        output = turned_by(rope, x, offset=11, positions=positions)
        assert_shape(output, sizes(), "output")
        if largest(output - rotary.turn(x, as_wide(positions + 11))) < 1e-4:
            raise CheckFailure("The offset is added to the positions that were given.")
        rotary.assert_turned(output, x, as_wide(positions), "output")


@check(
    "positions",
    points=1,
    title="Positions in the thousands are turned right too",
    hint="Does your code hold a table that ends somewhere?",
)
@pytest.mark.parametrize("offset", [1500, 4990])
def test_far_positions(student, draw, offset):
    rope = student.RotaryEmbedding()
    x = draw.normal(B, H, T, D)
    output = turned_by(rope, x, offset=offset)
    assert_shape(output, sizes(), "output")
    rotary.assert_turned(output, x, offset + torch.arange(T), "output", tol=FAR)
    positions = offset + draw.permutation(T)
    output = turned_by(rope, x, positions=positions)
    assert_shape(output, sizes(), "output")
    rotary.assert_turned(output, x, positions, "output", tol=FAR)


# -- values ----------------------------------------------------------------------------------------


@check(
    "values",
    points=3,
    title="Values are right with the defaults",
    hint="Compute the first two columns at position 1 by hand: cosine 0.5403, sine 0.8415.",
)
@pytest.mark.parametrize("size", [(B, H, T, D), (3, 2, 7, 10), (1, 2, 4, 2)])
def test_values(student, draw, size):
    x = draw.normal(*size)
    output = turned_by(student.RotaryEmbedding(), x)
    assert_shape(output, sizes(*size), "output")
    rotary.assert_turned(output, x, torch.arange(size[2]), "output")


@check(
    "values",
    points=2,
    title="Values are right up to position 256",
    hint="An error that grows with the position is an error in the frequency, or in its dtype.",
)
def test_values_of_a_long_sequence(student, draw):
    x = draw.normal(1, 2, 257, D)
    output = turned_by(student.RotaryEmbedding(), x)
    assert_shape(output, sizes(1, 2, 257), "output")
    rotary.assert_turned(output[:, :, :64], x[:, :, :64], torch.arange(64), "output")
    rotary.assert_turned(output, x, torch.arange(257), "output", tol=STACK)


# -- what may not matter ---------------------------------------------------------------------------


@check(
    "heads",
    points=2,
    title="Equal heads in, equal heads out: the position is the place on axis T",
    hint="Which axis does your code count positions along?",
)
@pytest.mark.parametrize("length", [T, H], ids=["T>H", "T=H"])
def test_equal_heads(student, draw, length):
    rope = student.RotaryEmbedding()
    x = draw.normal(B, 1, length, D).expand(B, H, length, D).clone()
    for options in ({"offset": 4}, {"positions": draw.permutation(length)}):
        output = turned_by(rope, x, **options)
        assert_shape(output, sizes(length=length), "output")
        words = "Equal heads come out different: your angles depend on the head."
        assert_close(output, output[:, :1].expand_as(output), "output", message=words)
    # Vectors that are equal, too, so that only their positions tell them apart.
    x = x[:, :, :1].expand_as(x).clone()
    output = turned_by(rope, x)
    for place in range(1, length):
        if largest(output[:, :, place] - output[:, :, 0]) < 1e-3:
            raise CheckFailure("Equal vectors at different positions come out equal.")


@check(
    "batch",
    points=2,
    title="Each vector is turned by itself: no item, head or position sees another",
    hint="Change one vector. May another one's result move?",
)
def test_vectors_are_independent(student, draw):
    rope = student.RotaryEmbedding()
    x = draw.normal(B, H, T, D)
    before = turned_by(rope, x, offset=2)
    assert_shape(before, sizes(), "output")
    for place in ((1,), (slice(None), 2), (slice(None), slice(None), 3)):
        changed = x.clone()
        changed[place] = draw.normal(*x[place].shape)
        after = turned_by(rope, changed, offset=2)
        others = torch.ones(B, H, T, dtype=torch.bool)
        others[place] = False
        words = "Changing one vector moves the result of another."
        assert_close(after[others], before[others], "output", message=words)
        if largest(after[place] - before[place]) < 1e-3:
            raise CheckFailure("Changing a vector does not change its result.")
    equal = x[:1].expand_as(x).clone()
    output = turned_by(rope, equal)
    words = "Equal items of a batch come out different: your angles depend on the item."
    assert_close(output, output[:1].expand_as(output), "output", message=words)


@check(
    "gradient",
    points=2,
    title="Gradients reach x, and are right",
    shows="which inputs the gradient reaches",
    hint="Is anything detached, converted to numbers, written in place, or computed without grad?",
)
@pytest.mark.parametrize("kind", ["offset", "positions"])
def test_gradients(student, reference, draw, kind):
    rope, right = student.RotaryEmbedding(), reference.RotaryEmbedding()
    options = {"offset": 3} if kind == "offset" else {"positions": draw.integers(0, 20, B, T)}
    assert_same_gradients(
        lambda x: rope(x, **options),
        lambda x: right(x, **options),
        {"x": draw.normal(B, H, T, D)},
        draw,
    )


# -- dtype, device, memory -------------------------------------------------------------------------


@check(
    "dtype",
    points=1,
    title="float32 and float64 in, the same dtype out",
    hint="Cosines of one dtype times x of another give the wider of the two. What is returned?",
)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
def test_float_dtypes(student, draw, dtype):
    rope = student.RotaryEmbedding()
    x = draw.normal(B, H, T, D, dtype=dtype)
    for options in ({"offset": 20}, {"positions": 20 + torch.arange(T)}):
        output = turned_by(rope, x, **options)
        assert_dtype(output, dtype, "output")
        assert_shape(output, sizes(), "output")
        rotary.assert_turned(output, x, 20 + torch.arange(T), "output")


@check(
    "dtype",
    points=2,
    title="bfloat16 in, bfloat16 out, with angles that are not rounded to bfloat16",
    hint="bfloat16 has 8 bits for digits: what is position 257 in it? In what are angles computed?",
)
@pytest.mark.parametrize("offset", [0, 254])
def test_bfloat16(student, draw, offset):
    rope = student.RotaryEmbedding()
    x = draw.normal(B, H, T, D, dtype=torch.bfloat16, std=0.5)
    for options in ({"offset": offset}, {"positions": offset + torch.arange(T)}):
        output = turned_by(rope, x, **options)
        assert_dtype(output, torch.bfloat16, "output")
        assert_shape(output, sizes(), "output")
        rotary.assert_turned(output, x, offset + torch.arange(T), "output")


@check(
    "device",
    points=1,
    title="Runs on whatever device its input is on",
    hint="Does a line name a device, or make a tensor without asking x where it is?",
)
def test_no_device_of_its_own(student):
    rope = student.RotaryEmbedding().to("meta")
    for options in ({}, {"offset": 3}):
        output = rope(torch.empty(B, H, T, D, device="meta"), **options)
        if output.device.type != "meta":
            raise CheckFailure("Your result is on another device than the input.")
        assert_shape(output, sizes(), "output")


@check(
    "layout",
    points=1,
    title="The input need not be contiguous in memory",
    hint="view() wants contiguous memory; reshape() does not.",
)
def test_input_that_is_not_contiguous(student, draw):
    rope = student.RotaryEmbedding()
    split = draw.normal(B, T, H, D).transpose(1, 2)
    turned_around = draw.normal(H, B, T, D).transpose(0, 1)
    for x in (split, turned_around):
        output = turned_by(rope, x, offset=1)
        assert_shape(output, sizes(), "output")
        rotary.assert_turned(output, x, 1 + torch.arange(T), "output")


# -- manners ---------------------------------------------------------------------------------------


@check(
    "purity",
    points=1,
    title="x and positions stay as they were",
    hint="Does a line work in place (+=, x[...] = ...) on something that came from outside?",
)
def test_inputs_untouched(student, draw):
    rope = student.RotaryEmbedding()
    for positions in (draw.permutation(T), draw.integers(0, 9, B, T)):
        named = {"x": draw.normal(B, H, T, D), "positions": positions}
        before = {name: tensor.clone() for name, tensor in named.items()}
        rope(named["x"], offset=2)
        rope(named["x"], offset=2, positions=named["positions"])
        assert_unchanged(before, named)


@check(
    "purity",
    points=2,
    title="A call leaves nothing behind: other lengths, widths, offsets and bases come out right",
    hint="If you keep a table between calls, what has to be true of it before it is used again?",
)
def test_calls_are_independent(student, draw):
    usual, other = student.RotaryEmbedding(), student.RotaryEmbedding(base=30.0)
    calls = [
        (usual, rotary.BASE, (B, H, T, D), 0, torch.float32),
        (usual, rotary.BASE, (B, H, T + 4, D), 0, torch.float32),
        (other, 30.0, (B, H, T, D), 0, torch.float32),
        (usual, rotary.BASE, (B, H, T, D), 6, torch.float32),
        (usual, rotary.BASE, (B, H, T, D + 4), 0, torch.float32),
        (other, 30.0, (3, 2, T, D), 1, torch.float64),
        (usual, rotary.BASE, (B, H, T, D), 0, torch.float64),
        (usual, rotary.BASE, (B, H, T, D), 0, torch.float32),
    ]
    for rope, base, size, offset, dtype in calls:
        x = draw.normal(*size, dtype=dtype)
        output = turned_by(rope, x, offset=offset)
        assert_shape(output, sizes(*size), "output")
        positions = offset + torch.arange(size[2])
        rotary.assert_turned(output, x, positions, "output", base=base)
        shuffled = draw.permutation(size[2])
        rotary.assert_turned(
            turned_by(rope, x, positions=shuffled), x, shuffled, "output", base=base
        )
