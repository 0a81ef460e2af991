"""Hidden suite of `positional_encoding`.

Lengths and widths are never equal, and every width is there: even, odd and tiny.
"""

import math

import pytest
import torch

from grader.suite import CheckFailure, assert_close, assert_finite, assert_shape, check, probe

NEAR = (0.0, 1e-4)
"""Tolerance up to 512 positions."""
FAR = (0.0, 1e-3)
"""Tolerance beyond: right float32 angles have lost digits there."""
EVEN = "three positions of width 4"
ODD = "three positions of width 3"
BASE = 10_000.0


def table(student, length, width):
    """The student's encoding as float64, checked to be (T, C) and finite.

    One with an axis in front, or turned on its side, loses the points for the shape alone.
    """
    encoding = student.positional_encoding(length, width)
    if encoding.shape == (1, length, width):
        encoding = encoding[0]
    elif encoding.shape == (width, length) != (length, width):
        encoding = encoding.transpose(0, 1)
    assert_shape(encoding, [("T", length), ("C", width)], "encoding")
    assert_finite(encoding, "encoding")
    return encoding.detach().double()


def assert_table(student, reference, length, width, *, tol=NEAR):
    """The student's encoding is the reference's."""
    wanted = reference.positional_encoding(length, width)
    assert_close(table(student, length, width), wanted, "encoding", tol=tol)


def turn(frequencies):
    """By what angle, from -pi to pi, one step turns pairs of these frequencies."""
    return torch.atan2(frequencies.sin(), frequencies.cos())


def is_all(numbers, expected):
    """Whether all ``numbers`` are the one expected."""
    return bool(((numbers - expected).abs() <= 1e-4).all())


def is_near(actual, expected):
    """Whether angles agree, the smallest as well as the largest."""
    return bool(((actual - expected).abs() <= 1e-3 * expected.abs() + 1e-9).all())


# -- shape -----------------------------------------------------------------------------------------


@check(
    "shape",
    points=3,
    title="The encoding is (T, C): a row a position, a column a feature",
    hint="Which argument counts the rows, and which the columns?",
    shows=EVEN,
)
@pytest.mark.parametrize("sizes", [(7, 4), (4, 10), (50, 16), (9, 64)], ids=str)
def test_shape(student, sizes):
    length, width = sizes
    encoding = student.positional_encoding(length, width)
    assert_shape(encoding, [("T", length), ("C", width)], "encoding")


@check(
    "shape",
    points=3,
    title="Odd and tiny widths have as many columns as was asked for",
    hint="How many sines and how many cosines does a width of 3 have? And a width of 1?",
    shows=ODD,
)
@pytest.mark.parametrize("width", [1, 2, 3, 5, 11])
def test_shape_of_odd_and_tiny_widths(student, width):
    encoding = student.positional_encoding(6, width)
    assert_shape(encoding, [("T", 6), ("C", width)], "encoding")


@check(
    "shape",
    points=1,
    title="One position is a table with one row",
    hint="Does something drop axes of size 1, such as squeeze()?",
)
@pytest.mark.parametrize("width", [4, 6])
def test_one_position(student, width):
    encoding = student.positional_encoding(1, width)
    assert_shape(encoding, [("T", 1), ("C", width)], "encoding")


@check(
    "dtype",
    points=2,
    title="The encoding is float32",
    hint="Which dtype do your positions and exponents have, and what comes of it?",
)
@pytest.mark.parametrize("sizes", [(6, 4), (3, 10)], ids=str)
def test_dtype(student, sizes):
    encoding = student.positional_encoding(*sizes)
    if encoding.dtype != torch.float32:
        raise CheckFailure(
            "Your encoding has to be float32; yours has another dtype.", f"{encoding.dtype}"
        )


# -- columns ---------------------------------------------------------------------------------------


@check(
    "layout",
    points=4,
    title="Position 0 has 0 in the even columns, the sines, and 1 in the odd ones, the cosines",
    hint="What is the angle of position 0, whatever the frequency? Where are a pair's columns?",
    shows=EVEN,
)
@pytest.mark.parametrize("width", [6, 10])
def test_first_row(student, width):
    rows = table(student, 5, width)
    pairs = rows.view(5, width // 2, 2)
    sines, cosines = pairs[0, :, 0], pairs[0, :, 1]
    if is_all(sines, 0) and is_all(cosines, 1):
        return
    if is_all(sines, 1) and is_all(cosines, 0):
        raise CheckFailure("Your even columns hold cosines and your odd ones sines.")
    if is_all(sines, 0) and is_all(cosines, 0):
        raise CheckFailure("All your columns are sines; the odd ones have to be cosines.")
    if is_all(rows[0, : width // 2], 0) and is_all(rows[0, width // 2 :], 1):
        raise CheckFailure(
            "Your sines fill the first half of the columns and your cosines the second; here they "
            "take turns."
        )
    if is_all(sines**2 + cosines**2, 1):
        raise CheckFailure("Your first row is not that of position 0.")
    raise CheckFailure("Your first row is not 0, 1, 0, 1, ...")


@check(
    "scale",
    points=5,
    title="Pair i turns by 10000^(-2i / C) from each position to the next",
    hint="Work out the exponent of the second pair by hand, for width 4. Is it -2/4?",
    shows=EVEN,
)
@pytest.mark.parametrize("width", [6, 16])
def test_frequencies(student, width):
    rows = table(student, 4, width)
    pairs = width // 2
    sines, cosines = rows[:, 0 : 2 * pairs : 2], rows[:, 1 : 2 * pairs : 2]
    angles = torch.atan2(sines, cosines)
    steps = turn(angles[1] - angles[0])
    exponents = torch.arange(pairs, dtype=torch.float64) * 2 / width
    if is_near(steps, turn(BASE**-exponents)):
        return
    known = {
        "The exponent is doubled: a range in steps of two already holds 2i.": BASE
        ** (-2 * exponents),
        "The exponent is i / C instead of 2i / C.": BASE ** (-exponents / 2),
        "The frequencies rise from pair to pair; they have to fall.": BASE**exponents,
        "The base is 1,000 instead of 10,000.": 1_000.0**-exponents,
        "The base is 100,000 instead of 10,000.": 100_000.0**-exponents,
        "The base is e instead of 10,000.": (-exponents).exp(),
        "The logarithm of 10,000 is the natural one where e is the base; yours is to base 10.": (
            -exponents * 4
        ).exp(),
        "All pairs have the same frequency.": torch.ones(pairs, dtype=torch.float64),
        "The angles are taken for degrees.": BASE**-exponents * math.pi / 180,
        "The angles are multiplied by 2 pi.": BASE**-exponents * 2 * math.pi,
        "The angles have the opposite sign.": -(BASE**-exponents),
        "The last frequency is exactly 1/10000, as if C were counted from 0 to the last pair.": (
            BASE ** (-torch.linspace(0, 1, pairs, dtype=torch.float64))
        ),
    }
    for words, frequencies in known.items():
        if is_near(steps, turn(frequencies)):
            raise CheckFailure(f"Your pairs turn at the wrong frequencies. {words}")
    raise CheckFailure("Your pairs turn at the wrong frequencies.")


@check(
    "row-sum",
    points=3,
    title="In every pair the squares of sine and cosine sum to 1",
    hint="Do the sine and the cosine of a pair have the same angle?",
    shows=EVEN,
)
@pytest.mark.parametrize("sizes", [(40, 12), (30, 6), (25, 2)], ids=str)
def test_pairs_lie_on_the_circle(student, sizes):
    rows = table(student, *sizes)
    pairs = sizes[1] // 2
    sines, cosines = rows[:, 0 : 2 * pairs : 2], rows[:, 1 : 2 * pairs : 2]
    if bool(((sines**2 + cosines**2 - 1).abs() > 1e-4).any()):
        raise CheckFailure(
            "The squares of a sine and its cosine do not sum to 1: the two have different angles, "
            "or are scaled."
        )


# -- positions -------------------------------------------------------------------------------------


@check(
    "positions",
    points=2,
    title="A shorter table is the beginning of a longer one",
    hint="Does a row depend on how many rows there are?",
)
@pytest.mark.parametrize("width", [8, 14])
def test_rows_do_not_depend_on_the_length(student, width):
    long, short = table(student, 30, width), table(student, 11, width)
    words = "The row of a position depends on how many positions there are."
    assert_close(short, long[:11], "encoding", tol=NEAR, message=words)
    if torch.allclose(long[1:], long[:-1]):
        raise CheckFailure("All positions have the same row.")


@check(
    "positions",
    points=2,
    title="Positions count 0, 1, 2, ...: each step turns a pair by the same angle",
    hint="What is the angle of the first pair at positions 0, 1 and 2?",
    shows=EVEN,
)
def test_positions_count_in_ones(student):
    rows = table(student, 6, 10)
    angles = torch.atan2(rows[:, 0], rows[:, 1])
    if abs(float(angles[0])) > 1e-4:
        raise CheckFailure("Your positions do not begin at 0.")
    if abs(float(angles[1]) - 1) > 1e-3:
        raise CheckFailure("The angle of the first pair at position 1 is not 1.")
    expected = turn(torch.arange(6.0).double())
    words = "The angle of the first pair is not the position itself."
    assert_close(turn(angles), expected, "angles", tol=NEAR, message=words)


# -- values ----------------------------------------------------------------------------------------


@check(
    "values",
    points=4,
    title="The table is right for even widths",
    hint="Compute one row by hand: position 1, width 4.",
    shows=EVEN,
)
def test_even_widths(student, reference, draw):
    for width in (4, 10, 64):
        assert_table(student, reference, int(draw.integers(12, 60, 1)), width)


@check(
    "values",
    points=4,
    title="The table is right for odd widths",
    hint="Which column is left alone, and what does it hold? Which C is in the exponent?",
    shows=ODD,
)
@pytest.mark.parametrize("width", [3, 5, 7, 65])
def test_odd_widths(student, reference, draw, width):
    assert_table(student, reference, int(draw.integers(12, 60, 1)), width)


@check(
    "values",
    points=2,
    title="Widths 1 and 2 have the frequency 1 only",
    hint="Which pairs are there if C is 1 or 2? Is anything divided by 0?",
)
@pytest.mark.parametrize("width", [1, 2])
def test_tiny_widths(student, reference, width):
    assert_table(student, reference, 20, width)


@check(
    "numerics",
    points=2,
    title="512 positions are right to 1e-4",
    hint="Which dtype do your positions have? How many digits has it?",
)
@pytest.mark.parametrize("width", [16, 6])
def test_512_positions(student, reference, width):
    assert_table(student, reference, 512, width)


@check(
    "numerics",
    points=2,
    title="5,000 positions are right to 1e-3",
    hint="Is there a largest length in your code, or a dtype with few digits?",
)
def test_5000_positions(student, reference):
    assert_table(student, reference, 5000, 6, tol=FAR)


@check(
    "numerics",
    points=1,
    title="Wide encodings are right in their last columns too",
    hint="How small is the lowest frequency of 512 columns, and does your code reach it?",
)
def test_wide(student, reference):
    length, width = 10, 512
    mine, wanted = table(student, length, width), reference.positional_encoding(length, width)
    # Of the slowest pairs only the ratio shows a mistake: their sines are nearly 0.
    words = "The slowest pairs of a wide encoding are not right."
    assert_close(mine[1:, 256::2], wanted[1:, 256::2], "encoding", tol=(1e-3, 0.0), message=words)


@check(
    "purity",
    points=1,
    title="Equal calls give equal tables",
    hint="Is anything random, or kept from call to call?",
)
def test_same_call_same_table(student):
    first = table(student, 12, 6)
    table(student, 5, 10)
    table(student, 20, 4)
    if not torch.equal(table(student, 12, 6), first):
        raise CheckFailure("Two equal calls gave different tables.")


# -- probes ----------------------------------------------------------------------------------------


@probe({"length": 7, "width": 12}, {"length": 11, "width": 8})
def probe_even_width(student, draw, length, width):
    return {"encoding": student.positional_encoding(length, width)}


@probe({"length": 6, "width": 9}, {"length": 10, "width": 7})
def probe_odd_width(student, draw, length, width):
    return {"encoding": student.positional_encoding(length, width)}


@probe({"width": 3}, {"width": 5})
def probe_narrow(student, draw, width):
    return {"encoding": student.positional_encoding(8, width)}


@probe({"width": 1}, {"width": 2})
def probe_tiny(student, draw, width):
    return {"encoding": student.positional_encoding(5, width)}


@probe({"width": 4}, {"width": 6})
def probe_one_position(student, draw, width):
    return {"encoding": student.positional_encoding(1, width)}


@probe({"length": 1300, "width": 6}, {"length": 1100, "width": 4})
def probe_long(student, draw, length, width):
    return {"encoding": student.positional_encoding(length, width)}
