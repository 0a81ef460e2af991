"""Checks of masks and of causality."""

import pytest
import torch
from support_layers import RANKS, LayerChecks, lifted, mask_of_rank

from grader.suite import (
    CheckFailure,
    assert_close,
    check,
)


class MaskChecks(LayerChecks):
    """Checks of masks and of causality."""

    @check(
        "mask",
        points=3,
        title="True means allowed, and blocked keys drop out before softmax",
        hint="Look at one row: which weights are 0, and do the others still sum to 1?",
    )
    def test_mask_meaning(self, student, draw):
        setting, batch, length = self.usual
        mask = draw.mask(length, length)
        made = setting.build(student, setting.showing(setting.weights(draw), length))
        read = setting.read(made, setting.tokens(draw, batch, length), mask)
        allowed = mask.expand(read.shape)
        if bool((read[allowed] < 1e-12).all()) and bool((read[~allowed] > 0).any()):
            raise CheckFailure("Your mask is inverted: the blocked keys get the weight.")
        if float(read[~allowed].abs().max()) > 1e-6:
            raise CheckFailure("Keys that the mask blocks still get weight.")
        if bool((read[allowed] <= 0).any()):
            raise CheckFailure("Keys that the mask allows get no weight.")
        if bool(((read.sum(-1) - 1).abs() > 1e-4).any()):
            raise CheckFailure(
                "Under a mask the allowed weights of a query no longer sum to 1: the mask has "
                "to act before softmax."
            )

    @check(
        "mask",
        points=2,
        title="Masks of every declared rank mean what their axes say",
        hint="Where is the heads' axis in a mask of four axes, and where is it missing in one "
        "of 3?",
    )
    @pytest.mark.parametrize("rank", RANKS)
    def test_mask_ranks(self, student, draw, rank):
        self._assert_obeyed(student, draw, rank, self.usual[1])

    @check(
        "mask",
        points=2,
        title="With as many items as heads, a mask (B, T, S) still belongs to the items",
        hint="Which axis of (B, H, T, S) does PyTorch line a three-axis mask up with?",
    )
    @pytest.mark.parametrize("rank", RANKS)
    def test_mask_ranks_where_batch_equals_heads(self, student, draw, rank):
        self._assert_obeyed(student, draw, rank, self.usual[0].heads)

    def _assert_obeyed(self, student, draw, rank, batch):
        """A mask of the given rank blocks what its axes say, in each item and each head."""
        setting, _, length = self.usual
        mask = mask_of_rank(draw, rank, batch, setting.heads, length)
        made = setting.build(student, setting.showing(setting.weights(draw), length))
        read = setting.read(made, setting.tokens(draw, batch, length), mask)
        if _obeys(read, lifted(mask)):
            return
        if rank == "(B, T, S)" and batch == setting.heads and _obeys(read, mask.unsqueeze(0)):
            raise CheckFailure(
                "A mask (B, T, S) holds one mask for each item of the batch; yours gives one to "
                "each head."
            )
        raise CheckFailure(
            f"With a mask of shape {rank}, some head of some item does not see exactly the keys "
            "that the mask allows it."
        )

    @check(
        "mask",
        points=2,
        title="A blocked token has no influence, however large it is or low the others' scores",
        hint="Which number can a blocked score be that no other score can beat?",
    )
    def test_blocked_tokens_have_no_influence(self, student, draw):
        self._assert_no_influence(student, draw)
        self._assert_low_scores(student)

    def _assert_no_influence(self, student, draw):
        """A token that nobody may see moves no other token's output, however large it is."""
        setting, batch, length = self.usual
        mask = draw.mask(length, length)
        mask[..., 2] = False
        mask[..., 3] = True
        made = setting.build(student, setting.weights(draw))
        x = draw.normal(batch, length, setting.width)
        before = setting.output(made, x, mask)
        others = [token for token in range(length) if token != 2]
        for size in (1e2, 1e4):
            loud = x.clone()
            loud[:, 2] = size * draw.normal(batch, setting.width)
            after = setting.output(made, loud, mask)
            assert_close(
                after[:, others],
                before[:, others],
                "output",
                message="A token that no query may see changes other tokens' outputs when it "
                "grows.",
            )

    def _assert_low_scores(self, student):
        """Blocked keys get nothing even where the scores of all the allowed ones are very low."""
        setting, _, length = self.usual
        mask = torch.ones(length, length, dtype=torch.bool).tril()
        made = setting.build(student, setting.flat(length))
        for low in (-1e2, -1e4):
            x = torch.zeros(1, length, setting.width)
            x[..., 0] = 1.0
            x[..., 1] = low
            x[..., -length:] = torch.eye(length)
            read = setting.read(made, x, mask)
            wanted = (mask / mask.sum(-1, keepdim=True)).expand(1, setting.heads, length, length)
            assert_close(
                read,
                wanted,
                "weights",
                message="Blocked keys get weight where the scores of the allowed keys are very "
                "low.",
                tol=(0.0, 2e-2),
            )

    @check(
        "mask",
        points=1,
        title="A mask that allows everything equals no mask",
        hint="What does your code do with a mask that has nothing to block?",
    )
    def test_all_true_equals_none(self, student, draw):
        setting, batch, length = self.usual
        made = setting.build(student, setting.weights(draw))
        x = draw.normal(batch, length, setting.width)
        without = setting.output(made, x)
        for shape in ((length, length), (batch, setting.heads, length, length)):
            output = setting.output(made, x, torch.ones(shape, dtype=torch.bool))
            assert_close(
                output,
                without,
                "output",
                message="With everything allowed the output has to be what it is without a mask.",
            )

    @check(
        "causal-leak",
        points=3,
        title="Under a causal mask no output depends on a later token",
        hint="Change the last token. Which rows of the output may move?",
    )
    def test_no_leak_from_later_tokens(self, student, draw):
        setting, batch, length = self.usual
        causal = torch.ones(length, length, dtype=torch.bool).tril()
        made = setting.build(student, setting.weights(draw))
        x = draw.normal(batch, length, setting.width)
        before = setting.output(made, x, causal)
        leak = "The output at a token moves when only later tokens change: the future leaks."
        for place in range(1, length):
            later = x.clone()
            later[:, place:] = draw.normal(batch, length - place, setting.width) * 3
            after = setting.output(made, later, causal)
            assert_close(after[:, :place], before[:, :place], "output", message=leak)
        watched = x.clone().requires_grad_()
        output = setting.output(made, watched, causal, with_grad=True)
        if not output.requires_grad:
            raise CheckFailure("No gradient can flow back from your output to the input.")
        for place in range(length):
            wanted = (output[0, place] * draw.normal(setting.width)).sum()
            (gradient,) = torch.autograd.grad(wanted, watched, retain_graph=True)
            reached = gradient[0].abs().amax(-1)
            if bool((reached[place + 1 :] > 1e-6).any()):
                raise CheckFailure(leak)
            if bool((reached[: place + 1] == 0).any()):
                raise CheckFailure("A query does not see all the tokens that it may see.")


def _obeys(read: torch.Tensor, mask: torch.Tensor) -> bool:
    """Whether exactly the keys that ``mask`` allows get weight."""
    allowed = mask.expand(read.shape)
    return bool((read[~allowed].abs() <= 1e-6).all()) and bool((read[allowed] > 0).all())
