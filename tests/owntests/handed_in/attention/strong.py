"""Every row of the handout's table of conventions, on sizes that are all different."""

import math

import pytest
import torch
from attention import scaled_dot_product_attention as attend

LEAD = (2, 3)
T, S, D, DV = 4, 5, 6, 7


@pytest.fixture
def inputs():
    torch.manual_seed(1)
    return torch.randn(*LEAD, T, D), torch.randn(*LEAD, S, D), torch.randn(*LEAD, S, DV)


@pytest.fixture
def mask():
    allowed = torch.ones(T, S, dtype=torch.bool)
    allowed[0, 2] = allowed[1, 0] = allowed[1, 4] = allowed[3, 1] = False
    return allowed


def expected(query, key, value, mask=None):
    """Row by row, with a softmax of its own."""
    scores = query.double() @ key.double().transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = torch.where(mask.bool(), scores, torch.tensor(-math.inf, dtype=torch.float64))
    scores = scores - scores.max(-1, keepdim=True).values
    weights = scores.exp() / scores.exp().sum(-1, keepdim=True)
    return weights @ value.double(), weights


def close(got, wanted, tolerance=1e-4):
    for mine, right in zip(got, wanted, strict=True):
        assert mine.shape == right.shape
        torch.testing.assert_close(mine.double(), right.double(), atol=tolerance, rtol=tolerance)


def test_the_handout():
    query = torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    key = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [-1.0, 0.0]])
    value = torch.tensor([[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [1.0, 1.0, 1.0]])
    _, weights = attend(query, key, value)
    torch.testing.assert_close(
        weights[0], torch.tensor([0.365, 0.180, 0.365, 0.089]), atol=1e-3, rtol=0
    )


def test_values(inputs):
    close(attend(*inputs), expected(*inputs))


@pytest.mark.parametrize("lead", [(), (1,), (2,), (2, 3), (2, 1, 3)])
@pytest.mark.parametrize(
    ("t", "s", "d", "dv"), [(4, 5, 6, 7), (1, 5, 6, 7), (4, 1, 1, 1), (5, 5, 5, 5)]
)
def test_sizes(lead, t, s, d, dv):
    torch.manual_seed(2)
    query, key, value = (
        torch.randn(*lead, t, d),
        torch.randn(*lead, s, d),
        torch.randn(*lead, s, dv),
    )
    close(attend(query, key, value), expected(query, key, value))
    allowed = torch.rand(t, s) < 0.6
    allowed[:, 0] = True
    close(attend(query, key, value, mask=allowed), expected(query, key, value, allowed))


@pytest.mark.parametrize("kind", [torch.bool, torch.int64, torch.int32, torch.uint8])
def test_mask(inputs, mask, kind):
    close(attend(*inputs, mask=mask.to(kind)), expected(*inputs, mask))


@pytest.mark.parametrize("number", [2, 7, -1])
def test_any_integer_but_zero_allows(inputs, mask, number):
    close(attend(*inputs, mask=mask.long() * number), expected(*inputs, mask))


@pytest.mark.parametrize(
    "shape",
    [(S,), (1, S), (T, 1), (T, S), (2, 1, 1, S), (3, T, S), (2, 1, T, S), (2, 3, T, S), (1, 1)],
)
@pytest.mark.parametrize("kind", [torch.bool, torch.int64])
def test_masks_broadcast(inputs, shape, kind):
    torch.manual_seed(3)
    allowed = torch.rand(shape) < 0.6
    allowed[..., 0] = True
    close(attend(*inputs, mask=allowed.to(kind)), expected(*inputs, allowed))


def test_causal_mask_does_not_leak():
    torch.manual_seed(4)
    x = torch.randn(2, 5, 6)
    causal = torch.ones(5, 5).tril().bool()
    before, weights = attend(x, x, x, mask=causal)
    assert weights.triu(1).abs().max() == 0
    later = x.clone()
    later[:, 3:] += 10
    after, _ = attend(x, later, later, mask=causal)
    torch.testing.assert_close(before[:, :3], after[:, :3])


def test_blocked_keys_do_nothing(inputs, mask):
    query, key, value = inputs
    blocked = torch.ones(T, S, dtype=torch.bool)
    blocked[:, 2] = False
    before = attend(query, key, value, mask=blocked)
    for size in (1e3, 1e6, -1e6):
        key, value = key.clone(), value.clone()
        key[..., 2, :], value[..., 2, :] = size, size
        after = attend(query, key, value, mask=blocked)
        close(after, before)
        assert after[1][..., 2].abs().max() < 1e-6


@pytest.mark.parametrize("low", [-2e4, -1e6])
def test_low_allowed_scores_win_over_blocked(low):
    query, value = torch.tensor([[1.0, 0.0]]), torch.tensor([[1.0], [5.0], [9.0]])
    key = torch.tensor([[low, 0.0], [low, 0.0], [0.0, 0.0]])
    output, weights = attend(query, key, value, mask=torch.tensor([[True, True, False]]))
    close([weights, output], [torch.tensor([[0.5, 0.5, 0.0]]), torch.tensor([[3.0]])], 2e-2)


@pytest.mark.parametrize("kind", [torch.bool, torch.int64])
@pytest.mark.parametrize("place", [(0, 0, 0), (1, 2, 3)])
def test_a_query_without_keys(inputs, kind, place):
    allowed = torch.ones(*LEAD, T, S, dtype=torch.bool)
    allowed[place] = False
    with pytest.raises(ValueError):
        attend(*inputs, mask=allowed.to(kind))
    with pytest.raises(ValueError):
        attend(*inputs, mask=torch.zeros(T, S).to(kind))


def test_a_key_that_nobody_sees(inputs):
    allowed = torch.ones(T, S, dtype=torch.bool)
    allowed[:, 1] = False
    close(attend(*inputs, mask=allowed), expected(*inputs, allowed))


@pytest.mark.parametrize("kind", [torch.bool, torch.int64])
def test_everything_allowed(inputs, kind):
    close(attend(*inputs, mask=torch.ones(T, S).to(kind)), expected(*inputs))


@pytest.mark.parametrize("kind", [torch.float32, torch.float64, torch.bfloat16])
def test_dtype(inputs, mask, kind):
    query, key, value = (x.to(kind) for x in inputs)
    tolerance = 2e-2 if kind == torch.bfloat16 else 1e-5
    for allowed in (None, mask, mask.long()):
        output, weights = attend(query, key, value, mask=allowed)
        assert output.dtype == weights.dtype == kind
        close((output, weights), expected(query, key, value, allowed), tolerance)


def test_float64_is_not_less_exact(inputs):
    query, key, value = (x.double() for x in inputs)
    close(attend(query, key, value), expected(query, key, value), 1e-5)


@pytest.mark.parametrize("size", [1e1, 1e2])
def test_large_scores(inputs, mask, size):
    query, key, value = inputs
    for allowed in (None, mask):
        output, weights = attend(query * size, key * size, value, mask=allowed)
        assert torch.isfinite(output).all()
        torch.testing.assert_close(weights.sum(-1), torch.ones(*LEAD, T))
        close([weights], [expected(query * size, key * size, value, allowed)[1]], 1e-3)


def test_very_negative_scores():
    query, key = torch.full((1, 2), 50.0), torch.full((3, 2), -50.0)
    output, weights = attend(query, key, torch.tensor([[1.0], [2.0], [6.0]]))
    close([weights, output], [torch.full((1, 3), 1 / 3), torch.tensor([[3.0]])])


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("masked", [False, True])
def test_gradients(inputs, mask, which, masked):
    allowed = mask if masked else None
    mine = [x.clone().requires_grad_() for x in inputs]
    theirs = [x.clone().double().requires_grad_() for x in inputs]
    got, wanted = attend(*mine, mask=allowed)[which], expected(*theirs, allowed)[which]
    torch.manual_seed(5)
    along = torch.randn(got.shape)
    assert got.requires_grad
    got = torch.autograd.grad((got * along).sum(), mine, allow_unused=True)
    wanted = torch.autograd.grad((wanted * along).sum(), theirs, allow_unused=True)
    for g, w in zip(got, wanted, strict=True):
        assert (g is None or bool((g == 0).all())) == (w is None)
        if w is not None:
            torch.testing.assert_close(g.double(), w, atol=1e-4, rtol=1e-4)


def test_inputs_stay(inputs, mask):
    for allowed in (mask, mask.long(), mask.long() * 7):
        before = [x.clone() for x in (*inputs, allowed)]
        attend(*inputs, mask=allowed)
        for now, then in zip((*inputs, allowed), before, strict=True):
            assert torch.equal(now, then)


def test_nothing_is_random_or_remembered(inputs, mask):
    torch.manual_seed(0)
    first = attend(*inputs)
    attend(*inputs, mask=mask)
    attend(*(x + 1 for x in inputs))
    torch.manual_seed(99)
    again = attend(*inputs)
    assert torch.equal(first[0], again[0])
    assert torch.equal(first[1], again[1])


def test_items_do_not_see_each_other(inputs, mask):
    query, key, value = inputs
    whole = attend(query, key, value, mask=mask)
    for b in range(2):
        for h in range(3):
            alone = attend(query[b, h], key[b, h], value[b, h], mask=mask)
            close([whole[0][b, h], whole[1][b, h]], alone)


def test_layout(inputs, mask):
    query, key, value = inputs
    odd = [x.transpose(-2, -1).contiguous().transpose(-2, -1) for x in inputs]
    assert not odd[0].is_contiguous()
    close(attend(*odd, mask=mask), expected(*inputs, mask))
    wide = key[:1, :1].expand(*LEAD, S, D)
    close(attend(query, wide, value), expected(query, wide, value))
    odd_mask = mask.t().contiguous().t()
    close(attend(*inputs, mask=odd_mask), expected(*inputs, mask))
