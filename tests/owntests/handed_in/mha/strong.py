"""The conventions of the handout, against a loop over heads."""

import math

import pytest
import torch
from mha import MultiHeadAttention

B, H, T, S, C = 2, 3, 4, 5, 12


@pytest.fixture
def module():
    torch.manual_seed(1)
    return filled(MultiHeadAttention(embed_dim=C, num_heads=H)).eval()


@pytest.fixture
def inputs():
    torch.manual_seed(2)
    return torch.randn(B, T, C), torch.randn(B, S, C), torch.randn(B, S, C)


def filled(module, width=C):
    """Set weights that are all different. A right answer may keep them in other layers."""
    weights = {}
    for name in ("W_q", "W_k", "W_v", "W_o"):
        weights[f"{name}.weight"] = torch.randn(width, width) / math.sqrt(width)
        weights[f"{name}.bias"] = torch.zeros(width)
    module.load_weights(weights)
    module.given = weights
    return module


def expected(module, query, key, value, mask=None):
    layers = {
        name: module.given[f"{name}.weight"].to(query.dtype)
        for name in ("W_q", "W_k", "W_v", "W_o")
    }
    query, key, value = query @ layers["W_q"].T, key @ layers["W_k"].T, value @ layers["W_v"].T
    heads = heads_of(module)
    size = query.shape[-1] // heads
    if mask is not None and mask.dim() == 3:
        mask = mask[:, None]
    mask = torch.ones(1, 1, 1, 1).bool() if mask is None else mask
    mask = mask.broadcast_to(len(query), heads, query.shape[1], key.shape[1])
    mixed, weights = [], []
    for h in range(heads):
        q, k, v = (x[..., h * size : (h + 1) * size] for x in (query, key, value))
        scores = q @ k.transpose(1, 2) / math.sqrt(size)
        scores = scores.masked_fill(~mask[:, h], -math.inf)
        weights.append(scores.softmax(-1))
        mixed.append(weights[-1] @ v)
    return torch.cat(mixed, -1) @ layers["W_o"].T, torch.stack(weights, 1)


def heads_of(module):
    width = module.given["W_q.weight"].shape[0]
    _, weights = module(*[torch.zeros(1, 1, width, dtype=next(module.parameters()).dtype)] * 3)
    return weights.shape[1]


def close(got, wanted, tolerance=1e-4):
    for mine, right in zip(got, wanted, strict=True):
        assert mine.shape == right.shape
        assert mine.dtype == right.dtype
        torch.testing.assert_close(mine, right, atol=tolerance, rtol=tolerance)


def masks():
    torch.manual_seed(3)
    for shape in ((T, S), (B, T, S), (B, 1, T, S), (B, H, T, S)):
        mask = torch.rand(shape) < 0.6
        mask[..., 0] = True
        yield mask


def test_values(module, inputs):
    close(module(*inputs), expected(module, *inputs))


@pytest.mark.parametrize("mask", masks(), ids=lambda mask: str(mask.dim()))
def test_masks(module, inputs, mask):
    close(module(*inputs, mask=mask), expected(module, *inputs, mask))


def test_mask_of_items_where_items_are_as_many_as_heads(inputs):
    torch.manual_seed(4)
    module = filled(MultiHeadAttention(embed_dim=C, num_heads=B)).eval()
    mask = torch.ones(B, T, S, dtype=torch.bool)
    mask[0, :, 1:3] = mask[1, :, 3:] = False
    close(module(*inputs, mask=mask), expected(module, *inputs, mask))


@pytest.mark.parametrize(
    ("b", "t", "s", "heads", "width"),
    [(1, 1, 1, 1, 1), (1, 4, 5, 2, 2), (3, 1, 5, 1, 4), (3, 4, 4, 4, 12)],
)
def test_sizes(b, t, s, heads, width):
    torch.manual_seed(5)
    module = filled(MultiHeadAttention(embed_dim=width, num_heads=heads), width).eval()
    inputs = torch.randn(b, t, width), torch.randn(b, s, width), torch.randn(b, s, width)
    close(module(*inputs), expected(module, *inputs))


def test_self_attention(module):
    x = torch.randn(B, T, C)
    close(module(x, x, x), expected(module, x, x, x))


def test_a_query_without_keys(module, inputs):
    mask = torch.ones(B, H, T, S, dtype=torch.bool)
    mask[1, 2, 3] = False
    with pytest.raises(ValueError):
        module(*inputs, mask=mask)
    with pytest.raises(ValueError):
        module(*inputs, mask=mask[:, 2])
    with pytest.raises(ValueError):
        module(*inputs, mask=torch.zeros(T, S, dtype=torch.bool))


def test_a_key_that_nobody_sees(module, inputs):
    mask = torch.ones(T, S, dtype=torch.bool)
    mask[:, 1] = False
    close(module(*inputs, mask=mask), expected(module, *inputs, mask))


def test_heads_have_to_divide():
    for width, heads in ((10, 3), (6, 4), (2, 4)):
        with pytest.raises((ValueError, AssertionError)):
            MultiHeadAttention(embed_dim=width, num_heads=heads)


def test_blocked_keys_do_nothing(module, inputs):
    query, key, value = inputs
    mask = torch.ones(T, S, dtype=torch.bool)
    mask[:, 2] = False
    before = module(query, key, value, mask=mask)
    key, value = key.clone(), value.clone()
    key[:, 2], value[:, 2] = 1e4, 1e4
    close(module(query, key, value, mask=mask), before)


@pytest.mark.parametrize("size", [1e2, 1e4])
def test_large_scores(module, inputs, size):
    query, key, value = inputs
    for mask in (None, next(masks())):
        output, weights = module(query * size, key * size, value, mask=mask)
        assert torch.isfinite(output).all()
        close([weights], [expected(module, query * size, key * size, value, mask)[1]], 1e-2)


@pytest.mark.parametrize("kind", [torch.float64, torch.bfloat16])
def test_dtype(module, inputs, kind):
    module = module.to(kind)
    query, key, value = (x.to(kind) for x in inputs)
    for mask in (None, next(masks())):
        got = module(query, key, value, mask=mask)
        exact = expected(module, *(x.double() for x in (query, key, value)), mask)
        assert got[0].dtype == got[1].dtype == kind
        close([x.double() for x in got], exact, 5e-2 if kind == torch.bfloat16 else 1e-6)


def test_dropout_in_training(inputs):
    torch.manual_seed(6)
    query, key, value = inputs[0], torch.randn(B, 50, C), torch.randn(B, 50, C)
    module = filled(MultiHeadAttention(embed_dim=C, num_heads=H, dropout=0.5))
    exact, _ = expected(module, query, key, value)
    module.eval()
    close(module(query, key, value), expected(module, query, key, value))
    module.train()
    runs = torch.stack([module(query, key, value)[0] for _ in range(300)])
    assert runs.std(0).min() > 0
    torch.testing.assert_close(runs.mean(0), exact, atol=0.12, rtol=0)


def test_dropout_acts_on_the_weights():
    module = filled(MultiHeadAttention(embed_dim=C, num_heads=H, dropout=0.5)).train()
    eye = {f"{name}.weight": torch.eye(C) for name in ("W_q", "W_k", "W_v", "W_o")}
    module.load_weights(
        eye | {f"{name}.bias": torch.zeros(C) for name in ("W_q", "W_k", "W_v", "W_o")}
    )
    x = torch.ones(1, 1, C)
    torch.manual_seed(7)
    seen = torch.cat([module(x, x, x)[0].view(H, C // H) for _ in range(40)])
    # One key: its weight is dropped, or doubled, for the whole head at once.
    torch.testing.assert_close(seen.amin(-1), seen.amax(-1))
    assert set(seen.flatten().round(decimals=4).tolist()) == {0.0, 2.0}


def test_no_dropout_by_default(inputs):
    torch.manual_seed(8)
    module = filled(MultiHeadAttention(embed_dim=C, num_heads=H)).train()
    close(module(*inputs), expected(module, *inputs))


def test_every_parameter_is_trained(inputs):
    torch.manual_seed(9)
    module = MultiHeadAttention(embed_dim=C, num_heads=H)
    output, _ = module(*inputs)
    output.square().sum().backward()
    parameters = list(module.parameters())
    assert sum(p.numel() for p in parameters if p.dim() > 1) == 4 * C * C
    for parameter in parameters:
        if parameter.dim() > 1:
            assert parameter.grad is not None
            assert parameter.grad.abs().sum() > 0


@pytest.mark.parametrize("which", [0, 1])
def test_gradients_of_inputs(module, inputs, which):
    mask = next(masks())
    mine = [x.clone().requires_grad_() for x in inputs]
    theirs = [x.clone().requires_grad_() for x in inputs]
    got, wanted = module(*mine, mask=mask)[which], expected(module, *theirs, mask)[which]
    along = torch.randn(wanted.shape)
    got = torch.autograd.grad((got * along).sum(), mine, allow_unused=True)
    wanted = torch.autograd.grad((wanted * along).sum(), theirs, allow_unused=True)
    for g, w in zip(got, wanted, strict=True):
        torch.testing.assert_close(
            torch.zeros(()) if g is None else g,
            torch.zeros(()) if w is None else w,
            atol=1e-4,
            rtol=1e-4,
        )


def test_nothing_surrounds_it(inputs):
    module = MultiHeadAttention(embed_dim=C, num_heads=H).eval()
    zero = {f"{name}.weight": torch.eye(C) for name in ("W_q", "W_k", "W_v")}
    zero["W_o.weight"] = torch.zeros(C, C)
    module.load_weights(
        zero | {f"{name}.bias": torch.zeros(C) for name in ("W_q", "W_k", "W_v", "W_o")}
    )
    assert module(*inputs)[0].abs().max() == 0


def test_inputs_stay(module, inputs):
    for mask in masks():
        before = [x.clone() for x in (*inputs, mask)]
        module(*inputs, mask=mask)
        for now, then in zip((*inputs, mask), before, strict=True):
            assert torch.equal(now, then)


def test_no_call_changes_the_next(module, inputs):
    first = module(*inputs)
    module(*(x + 1 for x in inputs), mask=next(masks()))
    module(inputs[0], inputs[0], inputs[0])
    close(module(*inputs), first)


def test_items_do_not_see_each_other(module, inputs):
    whole = module(*inputs)
    for b in range(B):
        close([x[b : b + 1] for x in whole], module(*(x[b : b + 1] for x in inputs)))


def test_layout(module, inputs):
    odd = [x.transpose(0, 1).contiguous().transpose(0, 1) for x in inputs]
    turned = [x.transpose(1, 2).contiguous().transpose(1, 2) for x in inputs]
    for strange in (odd, turned):
        close(module(*strange), expected(module, *inputs))
    wide = inputs[1][:1].expand(B, S, C)
    close(module(inputs[0], wide, wide), expected(module, inputs[0], wide, wide))
