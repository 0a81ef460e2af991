"""What suites of assignments with dropout share: the weights of training, read from outside.

Values that are the identity, twice side by side, make an output show the weights that it was mixed
with, twice. Weights that were dropped are missing from both copies; numbers that were dropped
after mixing are missing from one of them.

Nothing here depends on a random stream: rates have bounds of more than 7 standard deviations.
"""

import torch

from grader.suite import CheckFailure, measured

SHARE_BOUND = 0.1


def twice_the_identity(keys):
    """Values (S, 2S)."""
    return torch.eye(keys).repeat(1, 2)


def assert_dropped_before_mixing(shown):
    """``shown`` (..., 2S) is an output for ``twice_the_identity``."""
    first, second = shown.chunk(2, dim=-1)
    if not torch.equal(first == 0, second == 0):
        raise CheckFailure(
            "In training, numbers of your output are dropped one by one. Dropout has to act on "
            "the weights: a weight that is dropped takes its value's whole row with it."
        )


def assert_share_dropped(weights, rate):
    """About the share ``rate`` of ``weights`` is exactly 0; at least 2,000 draws."""
    share = float((weights == 0).double().mean())
    if abs(share - rate) <= SHARE_BOUND:
        return
    detail = measured("at rate {} the share of zeros is {:.3f}", rate, share)
    if share == 0:
        raise CheckFailure("In training none of your weights is exactly 0.", detail)
    if abs(share - (1 - rate)) <= SHARE_BOUND:
        raise CheckFailure(
            "Your rate is turned around: `dropout` is the share that is dropped, not kept.", detail
        )
    raise CheckFailure("The share of dropped weights is not the rate that was asked for.", detail)


def assert_survivors_scaled(dropped, weights, rate):
    """Where ``dropped`` is not 0 it is ``weights`` / (1 - rate)."""
    alive = dropped != 0
    if not bool(alive.any()):
        raise CheckFailure("In training every one of your weights is 0.")
    ratio = (dropped / weights)[alive].detach().double()
    if bool(((ratio * (1 - rate) - 1).abs() <= 1e-3).all()):
        return
    detail = measured("at rate {} survivors are multiplied by {:.4f}, ...", rate, float(ratio[0]))
    if bool(((ratio - 1).abs() <= 1e-3).all()):
        words = "The weights that survive stay as they were; they have to grow by 1 / (1 - p)."
    elif bool(((dropped.sum(-1) - 1).abs() <= 1e-3).all()):
        words = (
            "After dropping, your rows sum to 1 again. They need not: survivors grow by the same "
            "factor 1 / (1 - p), however many there are."
        )
    else:
        words = "The weights that survive are not multiplied by 1 / (1 - p)."
    raise CheckFailure(words, detail)


def assert_dropped_one_by_one(dropped):
    """Zeros of ``dropped`` (..., T, S) are neither whole rows nor whole columns."""
    zero = dropped == 0
    if not bool(zero.any()):
        raise CheckFailure("In training nothing is dropped.")
    if bool((zero == zero[..., :1, :]).all()):
        raise CheckFailure(
            "All queries lose the same keys: each weight has to be dropped, or not, by itself."
        )
    if bool((zero == zero[..., :1]).all()):
        raise CheckFailure(
            "A query loses all of its keys or none: each weight has to be dropped, or not, by "
            "itself."
        )
