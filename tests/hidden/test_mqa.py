"""Hidden suite of `mqa`: what is its own beside what holds for every self-attention layer.

Every size is distinct, so that no axis can stand in for another: B 2, H 3, T 5, D 7, C 21.
"""

import pytest
from support_layers import Grouped
from support_self_attention import GroupedChecks

from grader.suite import assert_raises, check, own

B, H, T, D = 2, 3, 5, 7
MAIN = Grouped(H, D)
WIDE = Grouped(2, 10)


class TestMultiQueryAttention(GroupedChecks):
    usual = (MAIN, B, T)
    wide = (WIDE, 6, 4)
    small = [
        (MAIN, 1, T),
        (MAIN, B, 1),
        (Grouped(1, 6), B, T),
        (Grouped(6, 1), B, 4),
        (Grouped(1, 1), 1, 1),
    ]
    sizes = (
        {"setting": Grouped(3, 4), "batch": 2, "length": 5},
        {"setting": Grouped(2, 5), "batch": 3, "length": 4},
    )
    """In the second one head shows the weights of 2 tokens twice."""
    square_sizes = (
        {"setting": Grouped(3, 4), "length": 5},
        {"setting": Grouped(2, 5), "length": 4},
    )
    wide_sizes = (
        {"setting": WIDE, "batch": 6, "length": 4},
        {"setting": Grouped(3, 8), "batch": 5, "length": 3},
    )
    constructions = (
        {"embed_dim": 14, "num_heads": 4},
        {"embed_dim": 15, "num_heads": 6},
        {"num_heads": 1},
    )
    differences = {
        "number_of_parameters": own(
            cases=("setting", {"3x7": MAIN, "4x5": Grouped(4, 5), "1x6": Grouped(1, 6)})
        ),
        "shapes": own(
            cases=(
                "setting, batch, length",
                {"3x7": (MAIN, B, T), "4x3": (Grouped(4, 3), 5, 7), "5x2": (Grouped(5, 2), 3, 11)},
            )
        ),
        "ratio_of_two_keys": own(cases=("setting", {"3x7": MAIN, "5x11": Grouped(5, 11)})),
        "weights_of_each_head": own(cases=("setting", {"3x7": MAIN, "4x9": Grouped(4, 9)})),
        "values_of_each_head": own(cases=("setting", {"3x7": MAIN, "4x6": Grouped(4, 6)})),
        "values": own(
            cases=(
                "setting, batch, length",
                {
                    "3x7": (MAIN, B, T),
                    "4x5": (Grouped(4, 5), 3, 8),
                    "2x9": (Grouped(2, 9), 5, 3),
                    "1x6": (Grouped(1, 6), 1, 4),
                },
            )
        ),
    }

    @check(
        "errors",
        points=2,
        title="A width that the heads do not divide raises an error in the constructor",
        hint="What is C / H for C = 14 and H = 4? When would the first line of yours notice?",
    )
    @pytest.mark.parametrize("sizes", [(14, 4), (3, 5), (20, 3)], ids=str)
    def test_width_not_divisible(self, student, draw, sizes):
        width, heads = sizes
        MAIN.build(student, MAIN.weights(draw))
        with assert_raises(ValueError, AssertionError, when="num_heads does not divide embed_dim"):
            student.MultiQueryAttention(embed_dim=width, num_heads=heads)
