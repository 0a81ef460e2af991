"""What is forbidden is noticed when it runs, in a worker, however the source spells it."""

import pytest
import torch

from grader.sandbox.forbidden import find_forbidden
from grader.sandbox.messages import Loaded, Raised

ATTENTION = "torch.nn.functional.scaled_dot_product_attention"
LAYER = "torch.nn.MultiheadAttention"
INNER = "torch.nn.functional.multi_head_attention_forward"
ENCODER = "torch.nn.TransformerEncoderLayer"

HIDDEN = {
    "a name put together": "getattr(F, '_'.join(['scaled', 'dot', 'product', 'attention']))",
    "an entry of a dictionary": "dict(F.__dict__)['scaled_dot' + '_product_attention']",
    "found by its end": "[f for n, f in vars(F).items() if n.endswith('t_product_attention')][0]",
    "evaluated": "eval('F.scaled' + '_dot_product_attention')",
    "a name that is reversed": "getattr(F, 'noitnetta_tcudorp_tod_delacs'[::-1])",
    "the C module": "dict(vars(torch._C._nn))['scaled_dot_product_attention']",
    "the dispatcher": "getattr(torch.ops.aten, ''.join(['scaled_dot_', 'product_attention']))",
    "its overload": "getattr(torch.ops.aten, 'scaled_dot_%s' % 'product_attention').default",
    "its slow form": "lambda *qkv: torch._scaled_dot_product_attention_math(*qkv)[0]",
    "through a layer": "lambda q, k, v: torch.nn.MultiheadAttention(q.shape[-1], 1)"
    "(q, k, v, need_weights=False)[0]",
}
HEAD = "import torch, torch.nn.functional as F\n"


@pytest.fixture
def run(start):
    """Runs ``call`` of a source, where ``forbidden`` is; what was noticed, and the reply."""

    def run(source: str, *forbidden: str, arguments=None, **fields):
        submission = start(HEAD + source)
        loaded = submission.load(forbidden=list(forbidden))
        assert isinstance(loaded, Loaded), loaded
        arguments = arguments or [torch.randn(2, 3, 4, 8) for _ in range(3)]
        reply, _ = submission.reply_to("call", *arguments, **fields)
        return [*loaded.tripped, *reply.tripped], reply

    return run


@pytest.mark.parametrize("expression", HIDDEN.values(), ids=HIDDEN)
def test_what_the_source_hides(run, expression):
    source = f"def call(q, k, v): return ({expression})(q[0], k[0], v[0])"
    assert find_forbidden(HEAD + source, [ATTENTION]) == []
    names, reply = run(source, ATTENTION)
    assert names == [ATTENTION], reply


@pytest.mark.parametrize("mode", ["no_grad", "enable_grad", "inference_mode"])
def test_in_every_mode(run, mode):
    source = f"@torch.{mode}()\ndef call(q, k, v): return F.scaled_dot_product_attention(q, k, v)"
    assert run(source, ATTENTION)[0] == [ATTENTION]


@pytest.mark.parametrize(
    ("source", "forbidden", "expected"),
    [
        ("def call(q, k, v): torch.nn.MultiheadAttention(8, 2)", LAYER, [LAYER]),
        ("class M(torch.nn.MultiheadAttention): pass\ndef call(q, k, v): M(8, 2)", LAYER, [LAYER]),
        ("layer = torch.nn.MultiheadAttention(8, 2)\ndef call(*_): pass", LAYER, [LAYER]),
        (
            "layer = torch.nn.MultiheadAttention(8, 2)\n"
            "def call(q, k, v): return layer(q[0], k[0], v[0])[0]",
            INNER,
            [INNER],
        ),
        (
            "def call(q, k, v):\n    F.scaled_dot_product_attention(q, k, v)\n    raise ValueError",
            ATTENTION,
            [ATTENTION],
        ),
        ("def call(q, k, v): torch.nn.Transformer(8, 2, 1, 1, 8)", ENCODER, [ENCODER]),
        ("def call(q, k, v): torch.nn.MultiheadAttention(8, 2)", ENCODER, []),
        ("def call(q, k, v): F.softmax(q @ k.mT, -1) @ v", ATTENTION, []),
        ("call = lambda q, k, v: F.scaled_dot_product_attention(q, k, v)", "enable_gqa=", []),
        (
            "call = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=False)",
            "enable_gqa=",
            [],
        ),
        (
            "call = lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True)",
            "enable_gqa=",
            ["enable_gqa="],
        ),
        ("def call(*_): pass", "torch.nowhere.at_all", []),
        ("def call(q, k, v): return torch.add(q, k)", "torch.add", ["torch.add"]),
        ("def call(q, k, v): return torch.addcmul(q, k, v)", "torch.addcmul", ["torch.addcmul"]),
        ("def call(q, k, v): return F.softmax(q, -1)", "torch.softmax", []),
        ("def call(q, k, v): return q @ k.mT", "torch.matmul", ["torch.matmul"]),
    ],
)
def test_what_the_assignment_names_and_nothing_else(run, source, forbidden, expected):
    assert run(source, forbidden)[0] == expected


def test_each_reply_tells_of_its_own_call(start):
    submission = start(
        HEAD + "def call(on): on and F.scaled_dot_product_attention(*[X] * 3)\n"
        "X = torch.ones(1, 2, 3)"
    )
    submission.load(forbidden=[ATTENTION])
    told = [submission.reply_to("call", on)[0].tripped for on in (False, True, False)]
    assert told == [[], [ATTENTION], []]


@pytest.mark.parametrize("masked", [False, True])
def test_it_changes_no_number(start, masked):
    source = HEAD + (
        "def call(q, k, v, causal):\n"
        "    return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)\n"
    )
    q, k = torch.randn(2, 4, 5, 8), torch.randn(2, 2, 5, 8)
    results = []
    for forbidden in ([], ["enable_gqa="]):
        submission = start(source)
        submission.load(forbidden=forbidden)
        results.append(submission.call("call", q, k, k, masked))
    assert torch.equal(*results)


def test_gradients_pass_through_it(run):
    source = (
        "def call(q, k, v):\n"
        "    q = q.requires_grad_()\n"
        "    (g,) = torch.autograd.grad(F.scaled_dot_product_attention(q, k, v).sum(), q)\n"
        "    (h,) = torch.autograd.grad((F.softmax(q @ k.mT / 8**0.5, -1) @ v).sum(), q)\n"
        "    torch.testing.assert_close(g, h)\n"
    )
    names, reply = run(source, ATTENTION)
    assert not isinstance(reply, Raised), reply
    assert names == [ATTENTION]
