"""Public checks of `rope`: the worked example of the handout. Read them, run them."""

import torch

from grader.suite import assert_close, assert_shape, check, demonstration, gradient_reach

BASE = 100.0
TURNED = torch.tensor(
    [
        [1.0, 0.0, 1.0, 0.0],
        [0.5403, 0.8415, 0.9950, 0.0998],
        [-0.4161, 0.9093, 0.9801, 0.1987],
        [-0.9900, 0.1411, 0.9553, 0.2955],
    ]
)


def four_equal_vectors():
    """(1, 1, 4, 4): four times [1, 0, 1, 0]."""
    return torch.tensor([1.0, 0.0, 1.0, 0.0]).repeat(1, 1, 4, 1)


def counting_vectors():
    """(2, 1, 3, 4): two items of a batch, one head, three times [1, 2, 3, 4]."""
    return torch.tensor([1.0, 2.0, 3.0, 4.0]).repeat(2, 1, 3, 1)


@check(
    "shape",
    points=1,
    title="What comes out has the shape of what went in",
    hint="Turning changes numbers, and no axis. Which line adds or drops one?",
)
def test_example_shape(student):
    output = student.RotaryEmbedding(base=BASE)(counting_vectors())
    assert_shape(output, {"B": 2, "H": 1, "T": 3, "D": 4}, "output")


@check(
    "values",
    points=2,
    title="The worked example: [1, 0, 1, 0] at the positions 0, 1, 2 and 3",
    hint="At position 1 the first pair turns by 1 radian, the second by 0.1. Is 1 radian a degree?",
)
def test_worked_example(student):
    output = student.RotaryEmbedding(base=BASE)(four_equal_vectors())
    assert_shape(output, {"B": 1, "H": 1, "T": 4, "D": 4}, "output")
    assert_close(output[0, 0], TURNED, "output", tol=(0.0, 1e-3))


@check(
    "positions",
    points=2,
    title="Of the worked example: offset 2 begins with the row of position 2",
    hint="With an offset, which position does the first vector have?",
)
def test_example_with_an_offset(student):
    output = student.RotaryEmbedding(base=BASE)(four_equal_vectors()[:, :, :2], offset=2)
    assert_shape(output, {"B": 1, "H": 1, "T": 2, "D": 4}, "output")
    assert_close(output[0, 0], TURNED[2:], "output", tol=(0.0, 1e-3))


@check(
    "positions",
    points=1,
    title="Of the worked example: the positions 3, 0, 1 give the rows 3, 0 and 1",
    hint="Where does your code use `positions`, and where the vector's place in the sequence?",
)
def test_example_with_positions(student):
    positions = torch.tensor([3, 0, 1])
    output = student.RotaryEmbedding(base=BASE)(four_equal_vectors()[:, :, :3], positions=positions)
    assert_shape(output, {"B": 1, "H": 1, "T": 3, "D": 4}, "output")
    assert_close(output[0, 0], TURNED[positions], "output", tol=(0.0, 1e-3))


@demonstration("[1, 0, 1, 0] at the positions 0 to 3, base 100")
def show_worked_example(student):
    turn = student.RotaryEmbedding(base=BASE)
    long = four_equal_vectors()[:, :, :1].repeat(1, 1, 32, 1)
    return {"output": turn(four_equal_vectors()), "output over 32 positions": turn(long)}


@demonstration("[1, 2, 3, 4] three times, offset 5, the usual base")
def show_offset(student):
    return {"output": student.RotaryEmbedding()(counting_vectors()[:1], offset=5)}


@demonstration("[1, 2, 3, 4] with positions of its own for each item of the batch, base 100")
def show_positions(student):
    positions = torch.tensor([[2, 0, 1], [7, 7, 3]])
    return {"output": student.RotaryEmbedding(base=BASE)(counting_vectors(), positions=positions)}


@demonstration("which inputs the gradient reaches", shows="reach")
def show_gradients(student):
    return gradient_reach(student.RotaryEmbedding(base=BASE), x=four_equal_vectors())
