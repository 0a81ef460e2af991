"""What is forbidden is noticed when it runs, in a worker, however the source spells it."""

from pathlib import Path

import pytest
import torch

from grader.execution.forbidden import find_forbidden
from grader.wire.messages import Loaded, Raised

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
    "its slow form": "lambda *qkv: getattr(torch, MATH)(*qkv)[0]",
    "its slow form in pieces": "lambda *qkv: "
    "getattr(torch.ops.aten, MATH).default.decompose(*qkv)[0]",
    "its slow form by a key": "lambda *qkv: getattr(torch.ops.aten, MATH).default._op_dk("
    "torch._C.DispatchKey.CompositeImplicitAutograd, *qkv)[0]",
    "its quick form by a key": "lambda q, k, v: getattr(torch.ops.aten, FLASH).default.redispatch("
    "torch._C.DispatchKeySet(torch._C.DispatchKey.CPU), q[None], k[None], v[None])[0][0]",
    "its quick form": "lambda q, k, v: "
    "getattr(torch.ops.aten, FLASH)(q[None], k[None], v[None])[0][0]",
    "through a layer": "lambda q, k, v: getattr(torch.nn, LAYER)(q.shape[-1], 1)"
    "(q, k, v, need_weights=False)[0]",
    "through a layer's function": "lambda q, k, v: several(getattr(F, INNER), q, k, v)",
    "a function that a table has held": "lambda q, k, v: several(next(f for f in "
    "torch.overrides.get_testing_overrides() if INNER in str(f)), q, k, v)",
    "a kernel of a layer": "lambda q, k, v: getattr(torch, '_native_multi_%s' % 'head_attention')("
    "q, k, v, 8, 2, torch.ones(24, 8), torch.ones(24), torch.eye(8), torch.ones(8))[0]",
    "a kernel of a block": "lambda q, k, v: "
    "getattr(torch, '_transformer_encoder_%s' % 'layer_fwd')(q, 8, 2, "
    "torch.ones(24, 8), torch.ones(24), torch.eye(8), torch.ones(8), False, False, 1e-5, "
    "*[torch.ones(8)] * 4, torch.ones(8, 8), torch.ones(8), torch.ones(8, 8), torch.ones(8))",
    "a block": "lambda q, k, v: getattr(torch.nn, 'Transformer%s' % 'EncoderLayer')(8, 2, 8)(q)",
}
TRANSFORMS = {
    "vmap": "torch.vmap(f)(q, k, v)",
    "vmap in vmap": "torch.vmap(torch.vmap(f))(q, k, v)",
    "grad": "torch.func.grad(lambda q: f(q, k, v).sum())(q)",
    "vmap of grad": "torch.vmap(torch.func.grad(lambda q, k, v: f(q, k, v).sum()))(q, k, v)",
    "vjp": "torch.func.vjp(lambda q: f(q, k, v), q)[0]",
    "jvp": "torch.func.jvp(lambda q: f(q, k, v), (q,), (q,))",
    "jacrev": "torch.func.jacrev(lambda q: f(q, k, v).sum())(q)",
    "jacfwd": "torch.func.jacfwd(lambda q: f(q, k, v).sum())(q)",
    "hessian": "torch.func.hessian(lambda q: f(q, k, v).sum())(q[:1, :1, :1])",
    "functionalize": "torch.func.functionalize(f)(q, k, v)",
    "autograd's functions": "torch.autograd.functional.vjp(lambda q: f(q, k, v).sum(), q)[1]",
    "checkpoint": "torch.utils.checkpoint.checkpoint(f, q, k, v, use_reentrant=False)",
    "trace": "torch.jit.trace(f, (q, k, v))(q, k, v)",
    "script": "torch.jit.script(own)(q, k, v)",
    "vmap of script": "torch.vmap(torch.jit.script(own))(q, k, v)",
    "fx": "torch.fx.symbolic_trace(lambda q, k, v: f(q, k, v))(q, k, v)",
    "autocast": "torch.autocast('cpu')(f)(q, k, v)",
    "a tensor of another class": "f(q.as_subclass(torch.nn.Buffer), k, v)",
    "nested tensors": "f(*(torch.nested.nested_tensor(list(x)) for x in (q, k, v)))",
    "jagged tensors": "f(*(torch.nested.nested_tensor(list(x.transpose(1, 2)), "
    "layout=torch.jagged).transpose(1, 2) for x in (q, k, v)))",
    "tensors without numbers": "f(*(x.to('meta') for x in (q, k, v)))",
    "a mask that computes": "f(q, k, v, attn_mask=causal_lower_right(4, 4))",
    "a thread": "ThreadPoolExecutor(1).submit(f, q, k, v).result()",
}
ELSEWHERE = {
    "torch.nn.attention.flex_attention": "flex_attention(q, k, v)",
    "torch.onnx.ops": "attention(q, k, v)",
    "torch.onnx.ops._impl": "torch.ops.onnx.Attention.opset23(q, k, v, softcap=1.0)",
    "torch.ao.nn.quantizable": "MultiheadAttention(8, 2)",
    "torch._decomp": "decomposition_table[torch.ops.aten."
    "_scaled_dot_product_flash_attention_for_cpu.default](q, k, v)",
    "torch._higher_order_ops.flex_attention": "math_attention(q, k, v, lambda s, *_: s, "
    "importlib.import_module('torch.nn.attention.flex_attention')"
    "._create_empty_block_mask(q, k).as_tuple(), 0.3, {})",
    "torch.nn.attention.varlen": "varlen_attn(q, k, v, None, None, 1, 1)",
    "torch._inductor.fx_passes.fuse_attention": "_sfdp_pattern_1(q, k, v, 2.0)",
}
"""What a module that is not there yet holds."""
HEAD = """\
import importlib, torch, torch.nn.functional as F
from concurrent.futures import ThreadPoolExecutor
from torch.nn.attention.bias import causal_lower_right
ATTEND, LAYER = 'attention'.join(['scaled_dot_product_', '']), 'Multihead' + 'Attention'
INNER = 'multi_head_' + 'attention_forward'
MATH = '_' + ATTEND + '_math'
FLASH = '_' + ATTEND.replace('att', 'flash_att') + '_for_cpu'
f = getattr(F, ATTEND)
def several(call, q, k, v):
    weights = torch.ones(24, 8), None, None, None, False, 0.0, torch.eye(8), None
    return call(q, k, v, 8, 2, *weights)[0]
"""


@pytest.fixture
def run(start):
    """Runs ``call`` of a source, where ``forbidden`` is; what was noticed, and the reply."""

    def run(source: str, *forbidden: str, arguments=None, **fields):
        submission = start(HEAD + source)
        loaded = submission.load(forbidden=list(forbidden))
        assert isinstance(loaded, Loaded), loaded
        arguments = arguments or [torch.randn(2, 3, 4, 8) for _ in range(3)]
        reply, _ = submission.reply_to("call", *arguments, **fields)
        return list(loaded.tripped | reply.tripped), reply

    return run


@pytest.mark.parametrize("expression", HIDDEN.values(), ids=HIDDEN)
def test_what_the_source_hides(run, expression):
    source = f"def call(q, k, v): return ({expression})(q[0], k[0], v[0])"
    assert find_forbidden(HEAD + source, [ATTENTION]) == []
    names, reply = run(source, ATTENTION)
    assert names == [ATTENTION], reply


@pytest.mark.parametrize("call", TRANSFORMS.values(), ids=TRANSFORMS)
def test_under_every_transform(run, call):
    own = (
        "def own(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor):\n"
        "    return F.scaled_dot_product_attention(q, k, v)\n"
    )
    names, reply = run(f"{own}def call(q, k, v): {call}", ATTENTION)
    assert names == [ATTENTION], reply


@pytest.mark.parametrize(("module", "call"), ELSEWHERE.items(), ids=ELSEWHERE)
def test_in_a_module_that_is_imported_late(start, module, call):
    place = Path(torch.__file__).parents[1].joinpath(*module.split("."))
    if not (place.is_dir() or place.with_suffix(".py").is_file()):
        pytest.skip("this torch does not have it")
    source = (
        f"def find(): globals().update(vars(importlib.import_module('torch'+{module[5:]!r})))\n"
        f"def call(q, k, v): return {call}"
    )
    submission = start(HEAD + source)
    assert submission.load(forbidden=[ATTENTION]).tripped == {}
    assert submission.reply_to("find", seconds=60)[0].tripped == {}
    reply, _ = submission.reply_to("call", *[torch.randn(2, 3, 4, 8) for _ in range(3)], seconds=60)
    assert list(reply.tripped) == [ATTENTION], reply


def test_a_function_that_asks_to_be_compiled_for_torchscript(run):
    source = "def call(q, k, v): torch.jit.script(f)(q, k, v)"
    names, reply = run(source, ATTENTION)
    assert names == [ATTENTION], reply
    assert not isinstance(reply, Raised), reply


@pytest.mark.parametrize(
    ("call", "shares"),
    [
        ("flex(q, k, v, enable_gqa=True)", True),
        ("flex(q, k, v, None, None, None, True)", True),
        ("flex(q, k[:, :1].expand(q.shape), v[:, :1].expand(q.shape))", False),
        ("getattr(torch.ops.aten, FLASH)(q, k, v)", True),
        (
            "getattr(torch.ops.aten, FLASH)(q, k[:, :1].expand(q.shape), v[:, :1].expand(q.shape))",
            False,
        ),
        ("importlib.import_module('torch.onnx.ops').attention(q, k, v)", True),
        ("f(q, k[:, :1], v[:, :1])", False),
        ("torch.vmap(f)(q, k, v, enable_gqa=True)", True),
    ],
)
def test_sharing_heads_by_whatever_does_it(start, call, shares):
    source = HEAD + (
        "from torch.nn.attention.flex_attention import flex_attention as flex\n"
        f"def call(q, k, v): return {call}"
    )
    submission = start(source)
    submission.load(forbidden=["enable_gqa="], seconds=60)
    q, k = torch.randn(2, 4, 5, 8), torch.randn(2, 2, 5, 8)
    reply, _ = submission.reply_to("call", q, k, k, seconds=60)
    assert bool(reply.tripped) is shares, reply


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
        ("def call(*_): torch.nn.Transformer.generate_square_subsequent_mask(4)", ENCODER, []),
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
    assert told == [{}, {ATTENTION: ATTENTION}, {}]


def test_what_ran_instead_is_named(start):
    submission = start(HEAD + "def call(q): getattr(torch.nn, LAYER)(8, 2)(q, q, q)")
    submission.load(forbidden=[LAYER])
    reply, _ = submission.reply_to("call", torch.randn(3, 4, 8))
    assert reply.tripped == {LAYER: LAYER}
    submission = start(HEAD + "def call(q): several(getattr(F, INNER), q, q, q)")
    submission.load(forbidden=[LAYER])
    reply, _ = submission.reply_to("call", torch.randn(3, 4, 8))
    assert reply.tripped == {LAYER: INNER}


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("transform", ["", "torch.vmap", "torch.func.functionalize"])
def test_it_changes_no_number(start, transform, masked):
    source = HEAD + (
        "def call(q, k, v, causal):\n"
        "    options = {'is_causal': causal, 'enable_gqa': True}\n"
        f"    return {transform}(lambda *qkv: f(*qkv, **options))(q, k, v)\n"
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
