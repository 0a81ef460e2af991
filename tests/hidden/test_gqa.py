"""Hidden suite of `gqa`: what is its own beside what holds for every self-attention layer.

Every size is distinct, so that no axis can stand in for another: B 4, H 6, G 3, H / G 2, T 5, D 7,
C 42.
"""

import pytest
import torch
from support_layers import Grouped
from support_layers_probes import outcome
from support_self_attention import GroupedChecks

from grader.suite import (
    CheckFailure,
    assert_close,
    assert_finite,
    assert_raises,
    check,
    own,
    probe,
)

B, H, G, T, D = 4, 6, 3, 5, 7
MAIN = Grouped(H, D, G)
WIDE = Grouped(4, 10, 2)

HEADS_AND_GROUPS = [(6, 3), (6, 2), (8, 2), (4, 1), (6, 6)]


def assert_groups(found, setting, what):
    """``found`` is the group whose ``what`` each head takes; None where it takes no single one."""
    if found == setting.group_of:
        return
    if found == [head % setting.groups for head in range(setting.heads)]:
        raise CheckFailure(
            f"Query head h takes the {what} of group h mod G: the groups are repeated as a whole. "
            "Neighbouring heads have to share a group, h // (H / G)."
        )
    if None in found:
        raise CheckFailure(f"A query head takes the {what} of no group, or of several at once.")
    if len(set(found)) == 1:
        raise CheckFailure(f"All query heads take the {what} of one group.")
    raise CheckFailure(
        f"Some query heads take the {what} of another group than h // (H / G).",
        f"heads take groups {found}, expected {setting.group_of}",
    )


class TestGroupedQueryAttention(GroupedChecks):
    usual = (MAIN, B, T)
    wide = (WIDE, 6, 4)
    small = [
        (MAIN, 1, T),
        (MAIN, B, 1),
        (Grouped(1, 6, 1), B, T),
        (Grouped(6, 1, 2), B, 5),
        (Grouped(1, 1, 1), 1, 1),
    ]
    sizes = (
        {"setting": Grouped(6, 5, 3), "batch": 2, "length": 4},
        {"setting": Grouped(8, 3, 2), "batch": 3, "length": 5},
    )
    square_sizes = (
        {"setting": Grouped(6, 5, 3), "length": 4},
        {"setting": Grouped(4, 3, 2), "length": 5},
    )
    wide_sizes = (
        {"setting": WIDE, "batch": 6, "length": 4},
        {"setting": Grouped(6, 8, 3), "batch": 5, "length": 3},
    )
    constructions = (
        {"embed_dim": 14, "num_heads": 4, "num_kv_groups": 2},
        {"embed_dim": 15, "num_heads": 6, "num_kv_groups": 3},
        {"embed_dim": 24, "num_heads": 6, "num_kv_groups": 4},
        {"embed_dim": 10, "num_heads": 5, "num_kv_groups": 4},
        {"embed_dim": 24, "num_heads": 3, "num_kv_groups": 6},
        {"embed_dim": 30, "num_heads": 5, "num_kv_groups": 1},
        {"embed_dim": 30, "num_heads": 5, "num_kv_groups": 5},
    )
    first = ("group_of_the_keys", "group_of_the_values")
    differences = {
        "number_of_parameters": own(
            points=2,
            title="W_k and W_v are G times D wide, whatever H and G are",
            hint="How many key heads are there, and how wide is each of them?",
            cases=("setting", {str((h, g)): Grouped(h, 5, g) for h, g in HEADS_AND_GROUPS}),
        ),
        "shapes": own(
            cases=(
                "setting, batch, length",
                {
                    "6-3": (MAIN, B, T),
                    "4-2": (Grouped(4, 3, 2), 5, 7),
                    "9-3": (Grouped(9, 2, 3), 5, 11),
                },
            )
        ),
        "ratio_of_two_keys": own(cases=("setting", {"6-3": MAIN, "10-5": Grouped(10, 11, 5)})),
        "weights_of_each_head": own(
            points=2,
            title="The weights of head h come from its own queries, and land in its own columns",
            cases=("setting", {"6-3": MAIN, "8-2": Grouped(8, 9, 2)}),
        ),
        "values_of_each_head": own(
            points=2,
            title="Each head hands on its group's value, and heads lie side by side in the output",
            cases=("setting", {"6-3": MAIN, "8-2": Grouped(8, 5, 2)}),
        ),
        "values": own(
            points=2,
            title="The output is right for every way to share heads, with weights that were loaded",
            cases=(
                "setting, batch, length",
                {str((h, g)): (Grouped(h, 5, g), 3, 7) for h, g in HEADS_AND_GROUPS},
            ),
        ),
        "mask_meaning": own(points=2),
        "mask_ranks_where_batch_equals_heads": own(points=1),
        "no_leak_from_later_tokens": own(points=2),
        "dropout_in_training": own(points=1),
        "gradient": own(points=1),
        "heads_shared_by_hand": own(
            hint="The point here is to share the key and value heads among the query heads "
            "yourself."
        ),
    }

    def wrong_divisors(self, setting):
        return super().wrong_divisors(setting) | {
            "with the root of the number of groups": setting.groups**0.5,
            "with the root of the width of all keys": (setting.groups * setting.head_width) ** 0.5,
        }

    @check(
        "errors",
        points=1,
        title="A width that the heads do not divide raises an error in the constructor",
        hint="What is C / H for C = 14 and H = 4? When would the first line of yours notice?",
    )
    @pytest.mark.parametrize("sizes", [(14, 4, 2), (3, 6, 3), (20, 3, 1)], ids=str)
    def test_width_not_divisible(self, student, draw, sizes):
        width, heads, groups = sizes
        MAIN.build(student, MAIN.weights(draw))
        with assert_raises(ValueError, AssertionError, when="num_heads does not divide embed_dim"):
            student.GroupedQueryAttention(embed_dim=width, num_heads=heads, num_kv_groups=groups)

    @check(
        "errors",
        points=1,
        title="Heads that the groups do not divide raise an error in the constructor",
        hint="How many query heads has each of 4 groups, if there are 6?",
    )
    @pytest.mark.parametrize("sizes", [(24, 6, 4), (12, 4, 3), (24, 3, 6)], ids=str)
    def test_heads_not_divisible(self, student, draw, sizes):
        width, heads, groups = sizes
        MAIN.build(student, MAIN.weights(draw))
        with assert_raises(
            ValueError, AssertionError, when="num_kv_groups does not divide num_heads"
        ):
            student.GroupedQueryAttention(embed_dim=width, num_heads=heads, num_kv_groups=groups)

    @check(
        "parameters",
        points=2,
        title="Every weight is trained: gradients reach every key and every value head",
        hint="Is a parameter kept where PyTorch does not look, left out of forward, or detached?",
    )
    @pytest.mark.parametrize("heads_groups", [(6, 3), (6, 2), (8, 2)], ids=str)
    def test_every_weight_is_trained(self, student, draw, heads_groups):
        heads, groups = heads_groups
        self.assert_all_trained(student, draw, Grouped(heads, D, groups))

    @check(
        "heads",
        points=2,
        title="Query head h takes the keys of group h // (H / G)",
        hint="With 6 heads and 3 groups, which heads share the first group? Write down all six.",
        shows="which group each head takes its values from",
    )
    @pytest.mark.parametrize("heads_groups", HEADS_AND_GROUPS, ids=str)
    def test_group_of_the_keys(self, student, draw, heads_groups):
        heads, groups = heads_groups
        setting = Grouped(heads, D, groups)
        weights = setting.showing(setting.weights(draw), T)
        x = setting.tokens(draw, B, T)
        found = [[] for _ in range(heads)]
        for group in range(groups):
            # Keys that are 0 give equal weights to all tokens.
            keys = torch.zeros_like(weights["W_k"])
            rows = slice(group * D, (group + 1) * D)
            keys[rows] = weights["W_k"][rows]
            read = setting.read(setting.build(student, {**weights, "W_k": keys}), x)
            for head in range(heads):
                shares = read[:, head]
                if bool((shares.amax(-1) - shares.amin(-1) > 1e-3).any()):
                    found[head].append(group)
        assert_groups([g[0] if len(g) == 1 else None for g in found], setting, "keys")

    @check(
        "heads",
        points=2,
        title="Query head h takes the values of group h // (H / G)",
        hint="With 6 heads and 3 groups, which heads share the first group? Write down all six.",
        shows="which group each head takes its values from",
    )
    @pytest.mark.parametrize("heads_groups", HEADS_AND_GROUPS, ids=str)
    def test_group_of_the_values(self, student, draw, heads_groups):
        heads, groups = heads_groups
        setting = Grouped(heads, D, groups)
        weights = {**setting.weights(draw), "W_o": torch.eye(setting.width)}
        # The values of a group are its number, at every token and in every column.
        weights["W_v"] = torch.zeros(groups, D, setting.width)
        weights["W_v"][..., 0] = torch.arange(groups).unsqueeze(-1)
        weights["W_v"] = weights["W_v"].flatten(0, 1)
        x = draw.normal(B, T, setting.width)
        x[..., 0] = 1.0
        output = setting.output(setting.build(student, weights), x)
        assert_finite(output, "output")
        found = []
        for head in output.unflatten(-1, (heads, D)).unbind(-2):
            number = float(head.flatten()[0])
            whole = bool(((head - round(number)).abs() < 1e-3).all())
            found.append(round(number) if whole else None)
        assert_groups(found, setting, "values")

    @check(
        "values",
        points=2,
        title="As many groups as heads is multi-head attention, one group is multi-query attention",
        hint="What is left to repeat if G = H, and what if G = 1?",
    )
    @pytest.mark.parametrize("groups", [H, 1], ids=["multi-head", "multi-query"])
    def test_ends_of_the_range(self, student, draw, groups):
        setting = Grouped(H, D, groups)
        weights, x, mask = setting.weights(draw), draw.normal(B, T, H * D), draw.mask(T, T)
        wanted, _ = setting.plain(x, weights, mask)
        output = setting.output(setting.build(student, weights), x, mask)
        kind = "multi-head" if groups == H else "multi-query"
        words = f"With this number of groups the output has to be that of {kind} attention."
        assert_close(output, wanted, "output", message=words)

    @probe({"heads": 6, "groups": 6}, {"heads": 6, "groups": 2}, {"heads": 5, "groups": 1})
    def probe_ends_of_the_range(self, student, draw, heads, groups):
        setting = Grouped(heads, 4, groups)
        return outcome(setting, student, draw, draw.normal(2, 3, setting.width))
