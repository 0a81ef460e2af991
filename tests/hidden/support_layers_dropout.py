"""Checks of dropout on weights that are read from the output."""

import torch
from support_layers import LayerChecks, undone_by_mask

from grader.suite import CheckFailure, assert_close, check


class DropoutChecks(LayerChecks):
    """Checks of dropout on weights that are read from the output."""

    @check(
        "dropout",
        points=2,
        title="In training, dropout acts on the attention weights after softmax",
        hint="Which tensor holds the shares that a query gives out? Drop some of those.",
    )
    def test_dropout_in_training(self, student, draw):
        setting, batch, length = self.wide
        rate = 0.25
        weights = setting.showing(setting.weights(draw), length, copies=2)
        x = setting.tokens(draw, batch, length)
        made = setting.build(student, weights, dropout=rate)
        still = setting.read(made, x)
        made.train()
        dropped = 0
        seen = []
        for _ in range(8):
            output = setting.output(made, x)
            first, second = setting.seen(output), setting.seen(output, copy=1)
            if not torch.allclose(first, second, rtol=1e-4, atol=1e-6):
                raise CheckFailure(
                    "In training, columns that carry the same numbers come out different: dropout "
                    "has to act on the weights, not on the output or the values."
                )
            seen.append(first)
            dropped += int((first.abs() < 1e-12).sum())
        if all(torch.allclose(one, still, rtol=1e-4, atol=1e-6) for one in seen):
            raise CheckFailure("In training nothing is dropped.")
        if all(torch.equal(one, seen[0]) for one in seen):
            raise CheckFailure("In training every call drops the same weights.")
        if dropped == 0:
            raise CheckFailure(
                "In training the weights change, but none becomes 0: dropout has to act after "
                "softmax."
            )
        for one in seen:
            alive = one.abs() >= 1e-12
            ratio = one[alive] / still[alive]
            if bool(((ratio - 1).abs() < 1e-3).all()):
                raise CheckFailure("The weights that survive dropout are not scaled by 1/(1-p).")
            if bool(((ratio - 1 / (1 - rate)).abs() > 1e-3).any()):
                raise CheckFailure(
                    "The weights that survive dropout are not what they were, scaled by 1/(1-p)."
                )
        share = dropped / sum(one.numel() for one in seen)
        if not 0.08 < share < 0.5:
            raise CheckFailure("The share of weights that is dropped is not the given rate.")

    @check(
        "dropout",
        points=1,
        title="In evaluation nothing is dropped",
        hint="How does your dropout learn of model.eval()?",
    )
    def test_no_dropout_in_evaluation(self, student, draw):
        setting, batch, length = self.usual
        weights = setting.weights(draw)
        x = draw.normal(batch, length, setting.width)
        plain = setting.output(setting.build(student, weights, dropout=0.0), x)
        made = setting.build(student, weights, dropout=0.9)
        for _ in range(2):
            assert_close(
                setting.output(made, x),
                plain,
                "output",
                message="In evaluation the output changes with the dropout rate, or from call "
                "to call.",
            )
        made.train()
        setting.output(made, x)
        made.eval()
        assert_close(
            setting.output(made, x),
            plain,
            "output",
            message="Back in evaluation after training, dropout is still at work.",
        )

    @check(
        "dropout",
        points=1,
        title="At rate 0, the default, training changes nothing",
        hint="What is dropped if nobody gives a rate?",
    )
    def test_rate_zero(self, student, draw):
        setting, batch, length = self.usual
        weights = setting.weights(draw)
        x = draw.normal(batch, length, setting.width)
        for options, mask, words in (
            (
                {"dropout": 0.0},
                None,
                "With dropout=0.0 training has to give what evaluation gives.",
            ),
            ({}, None, "Without a rate, training drops something: the default rate is 0.0."),
            (
                {"dropout": 0.0},
                draw.mask(length, length),
                "With dropout=0.0 and a mask, training has to give what evaluation gives.",
            ),
        ):
            made = setting.build(student, weights, **options)
            still = setting.output(made, x, mask)
            made.train()
            output = setting.output(made, x, mask)
            if not undone_by_mask(still, mask):
                assert_close(output, still, "output", message=words)
