"""Checks of what each head attends to, and of how heads are put together."""

import torch
from support_layers import AXES, LayerChecks

from grader.suite import (
    CheckFailure,
    assert_close,
    assert_finite,
    assert_rows_sum_to_one,
    check,
    measured,
    normalised_axis,
)


class HeadChecks(LayerChecks):
    """Checks of what each head attends to, and of how heads are put together."""

    @check(
        "row-sum",
        points=2,
        title="Each query of each head shares out exactly 1 among the tokens",
        hint="What has to be true of the weights of one query, however many tokens there are?",
    )
    def test_rows_sum_to_one(self, student, draw):
        setting, batch, length = self.usual
        made = setting.build(student, setting.showing(setting.weights(draw), length))
        output = setting.output(made, setting.tokens(draw, batch, length))
        assert_finite(output, "output")
        # The sum over heads and keys does not depend on how the heads are put side by side.
        total = output.sum(-1)
        if bool(((total - setting.heads).abs() > 1e-3).any()):
            assert_rows_sum_to_one(setting.seen(output), AXES)
            raise CheckFailure(
                "Each query of each head has to share out exactly 1 among its keys; yours do not."
            )

    @check(
        "wrong-axis",
        points=2,
        title="The weights are normalised over the keys and over no other axis",
        hint="A query shares out 1 among the keys. Which axis are the keys on?",
    )
    def test_normalised_over_the_keys(self, student, draw):
        setting, batch, length = self.usual
        made = setting.build(student, setting.showing(setting.weights(draw), length))
        output = setting.output(made, setting.tokens(draw, batch, length))
        assert_finite(output, "output")
        other = normalised_axis(setting.seen(output), AXES)
        if other is not None:
            raise CheckFailure(f"Your weights sum to 1 over {other}, not over the keys.")
        if bool(((output.sum(-1) - setting.heads).abs() > 1e-3).any()):
            raise CheckFailure("The weights of a query do not sum to 1 over the keys.")

    @check(
        "scale",
        points=2,
        title="Scores are divided by the square root of the head width D",
        hint="Is it the width of a token or of a head that a score is a sum over?",
    )
    def test_ratio_of_two_keys(self, student, setting):
        width = setting.head_width
        x = torch.zeros(1, 2, setting.width)
        x[..., 0] = 1.0
        x[0, 0, 1] = 1.0
        x[..., -2:] = torch.eye(2)
        read = setting.read(setting.build(student, setting.flat(2)), x)
        if bool((read <= 0).any()):
            raise CheckFailure("A key that nothing blocks gets no weight.")
        ratios = read[..., 0].log() - read[..., 1].log()
        ratio, wanted = float(ratios.flatten()[0]), width**0.5
        if bool(((ratios - wanted).abs() <= 1e-3 * width).all()):
            return
        divisors = {
            "without any scale": 1.0,
            "divided by the head width itself, or twice by its root": float(width),
            "multiplied by the root instead of divided": wanted**-1,
            "with the root of the number of keys": 2**0.5,
            **self.wrong_divisors(setting),
        }
        near = [words for words, by in divisors.items() if abs(ratio - width / by) < 1e-2]
        words = f" They are what they would be {near[0]}." if near else ""
        raise CheckFailure(
            f"Two keys whose scores differ by the head width get weights in the wrong "
            f"ratio.{words}",
            measured("log ratio {:.4f}, expected {:.4f}", ratio, wanted),
        )

    @check(
        "heads",
        points=3,
        title="Query head h is columns hD to (h+1)D, and meets the one key head",
        hint="Split C into (H, D) first; only then may axes change places.",
    )
    def test_weights_of_each_head(self, student, draw, setting):
        _, batch, length = self.usual
        weights = setting.showing(setting.weights(draw), length)
        x = setting.tokens(draw, batch, length)
        for name in setting.by_head:
            for head in range(setting.heads):
                rows = slice(head * setting.head_width, (head + 1) * setting.head_width)
                alone = torch.zeros_like(weights[name])
                alone[rows] = weights[name][rows]
                read = setting.read(setting.build(student, {**weights, name: alone}), x)
                # Queries, or keys, that are 0 give equal weights to all tokens.
                spread = (read.amax(-1) - read.amin(-1)).amax((0, 2)) > 1e-3
                if not bool(spread[head]):
                    raise CheckFailure(
                        f"The rows of {name} that belong to a head do not decide what it "
                        "attends to."
                    )
                if int(spread.sum()) > 1:
                    raise CheckFailure(
                        f"The rows of {name} that belong to one head change what another "
                        "attends to."
                    )

    @check(
        "heads",
        points=3,
        title="Every head hands on the one value head, and heads lie side by side in the output",
        hint="Which two axes have to change places before heads and columns become one axis again?",
    )
    def test_values_of_each_head(self, student, draw, setting):
        _, batch, length = self.usual
        weights = {**setting.itself(setting.weights(draw), length), "W_o": torch.eye(setting.width)}
        x = setting.tokens(draw, batch, length)
        output = setting.output(setting.build(student, weights), x)
        wanted, _ = setting.plain(x, weights)
        pieces = wanted.unflatten(-1, (setting.heads, setting.head_width))
        if torch.allclose(output.double(), pieces.transpose(-2, -1).flatten(2), atol=1e-4):
            raise CheckFailure(
                "The heads lie interleaved in your output, column by column; each head's columns "
                "belong side by side."
            )
        if torch.allclose(output.double(), pieces.transpose(1, 2).reshape(wanted.shape), atol=1e-4):
            raise CheckFailure(
                "Tokens and heads are mixed up when the heads are merged: a row of your output "
                "holds pieces of several tokens."
            )
        assert_close(
            output,
            wanted,
            "output",
            message="With each token attending to itself alone, every head has to hand on its own "
            "value of that token, in its own columns; yours does not.",
        )
