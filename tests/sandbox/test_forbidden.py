"""Finding forbidden calls in source that is parsed and never run."""

import pytest

from grader.execution.forbidden import find_forbidden

ATTENTION = "torch.nn.functional.scaled_dot_product_attention"
LAYER = "torch.nn.MultiheadAttention"
FORBIDDEN = [ATTENTION, LAYER, "enable_gqa="]


def lines(source: str) -> list[int]:
    return [use.line for use in find_forbidden(source, FORBIDDEN)]


FOUND = {
    "by its full name": "import torch\nx = torch.nn.functional.scaled_dot_product_attention(q)",
    "by a module's alias": "import torch.nn.functional as F\nF.scaled_dot_product_attention(q)",
    "through nn": "from torch import nn\nnn.functional.scaled_dot_product_attention(q)",
    "by name": "from torch.nn.functional import scaled_dot_product_attention\n"
    "scaled_dot_product_attention(q)",
    "by a name of its own": "from torch.nn.functional import scaled_dot_product_attention as mine\n"
    "mine(q)",
    "by a star": "from torch.nn.functional import *\nscaled_dot_product_attention(q)",
    "by a star before another": "from torch.nn.functional import *; from math import *\n"
    "scaled_dot_product_attention(q)",
    "a module by a star": "from torch.nn import *\nfunctional.scaled_dot_product_attention(q)",
    "from the C module": "import torch\ntorch._C._nn.scaled_dot_product_attention(q)",
    "from where it is defined": "from torch.nn.modules.activation import MultiheadAttention as M\n"
    "M(1, 1)",
    "through a variable": "import torch; G = torch.nn.functional; H = G\n"
    "H.scaled_dot_product_attention",
    "through a variable set later": "import torch\n"
    "def f(q): return G.scaled_dot_product_attention(q)\nG = torch.nn.functional",
    "by getattr": "import torch.nn.functional as F\ngetattr(F, 'scaled_dot_product_attention')(q)",
    "by getattr in two steps": "import torch\n"
    "getattr(getattr(torch.nn, 'functional'), 'scaled_dot_product_attention')",
    "by __import__": "\n__import__('torch').nn.functional.scaled_dot_product_attention(q)",
    "by importlib": "import importlib\n"
    "importlib.import_module('torch.nn.functional').scaled_dot_product_attention(q)",
    "by import_module": "from importlib import import_module as load, import_module\n"
    "import_module('torch.nn').functional.scaled_dot_product_attention(q)",
    "by getattr with a name in parts": "import torch.nn.functional as F\n"
    "getattr(F, 'scaled_dot_' + f'product_{\"attention\"}')(q)",
    "from the dispatcher": "import torch\ntorch.ops.aten.scaled_dot_product_attention(q)",
    "an overload of the dispatcher": "import torch\n"
    "torch.ops.aten.scaled_dot_product_attention.default(q)",
    "by vars": "import torch.nn.functional as F\nvars(F)['scaled_dot_product_attention'](q)",
    "by vars and get": "from torch.nn import functional\n"
    "vars(functional).get('scaled_dot_product_attention')(q)",
    "by a module's dictionary": "import torch.nn.functional as F\n"
    "F.__dict__['scaled_dot_product_attention'](q)",
    "by __getattribute__": "import torch.nn.functional as F\n"
    "F.__getattribute__('scaled_dot_product_attention')(q)",
    "by attrgetter": "import torch, operator\n"
    "operator.attrgetter('nn.functional.scaled_dot_product_attention')(torch)(q)",
    "by an attrgetter of another name": "from operator import attrgetter as a; import torch\n"
    "a('nn.functional.scaled_dot_product_attention')(torch)(q)",
    "by sys.modules": "import sys\n"
    "sys.modules['torch.nn.functional'].scaled_dot_product_attention(q)",
    "by one of several variables": "import torch; A, G = torch.nn, torch.nn.functional\n"
    "G.scaled_dot_product_attention(q)",
    "by two names at once": "import torch; A = G = torch.nn.functional\n"
    "G.scaled_dot_product_attention(q)",
    "by a variable with a type": "import torch; G: object = torch.nn.functional\n"
    "G.scaled_dot_product_attention(q)",
    "by a variable of an expression": "import torch\n"
    "(G := torch.nn.functional).scaled_dot_product_attention(q)",
    "as a base class": "from torch import nn\nclass Mine(nn.MultiheadAttention): pass",
    "as a default": "import torch.nn.functional as F\n"
    "def f(q, call=F.scaled_dot_product_attention): return call(q)",
    "a slow form": "import torch\ntorch._scaled_dot_product_attention_math(q)",
    "a slow form's overload": "import torch\n"
    "torch.ops.aten._scaled_dot_product_attention_math.default.decompose(q)",
    "a quick form": "import torch\ntorch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q)",
    "a layer's function": "import torch.nn.functional as F\nF.multi_head_attention_forward(q)",
    "a layer's function elsewhere": "from torch.nn.modules import activation\n"
    "activation.F.multi_head_attention_forward(q)",
    "a layer's kernel": "import torch\ntorch._native_multi_head_attention(q)",
    "a layer's own forward": "from torch import nn\nnn.MultiheadAttention.forward(x, q, q, q)",
    "a block": "from torch import nn\nnn.TransformerEncoderLayer(8, 2)",
    "a block's kernel": "import torch\ntorch._transformer_encoder_layer_fwd(q)",
    "a flexible form": "from torch.nn.attention.flex_attention import flex_attention\n"
    "flex_attention(q)",
    "a flexible form by its module": "from torch.nn.attention import flex_attention\n"
    "flex_attention.flex_attention(q)",
    "a flexible form by a star": "from torch.nn.attention.flex_attention import *\n"
    "flex_attention(q)",
    "a higher operator": "import torch\ntorch.ops.higher_order.flex_attention(q)",
    "a quantizable layer": "import torch.ao.nn.quantizable as nnq\nnnq.MultiheadAttention(8, 2)",
    "an exporter's form": "from torch.onnx.ops import attention\nattention(q)",
    "a decomposition": "import torch._decomp.decompositions as d\n"
    "d.scaled_dot_product_flash_attention_for_cpu(q)",
    "a pattern of the compiler": "from torch._inductor.fx_passes import fuse_attention as fuse\n"
    "fuse._sfdp_pattern_1(q)",
    "a form for sequences of many lengths": "from torch.nn.attention.varlen import varlen_attn\n"
    "varlen_attn(q)",
    "under vmap": "import torch, torch.nn.functional as F\n"
    "torch.vmap(F.scaled_dot_product_attention)(q)",
    "an option": "import torch\nx = torch.f(q, enable_gqa=True)",
    "an option in a dictionary": "import torch\nx = {'enable_gqa': flag}; torch.f(q, **x)",
}


@pytest.mark.parametrize("source", FOUND.values(), ids=FOUND)
def test_is_found(source):
    assert lines(source) == [2]


def test_is_found_inside_a_function_of_the_same_name():
    source = """
def scaled_dot_product_attention(query):
    from torch.nn.functional import scaled_dot_product_attention
    return scaled_dot_product_attention(query)

def other(query):
    return scaled_dot_product_attention(query)
"""
    assert lines(source) == [4]


def test_each_line_once_in_order_with_its_text():
    source = (
        "import torch.nn.functional as F\n"
        "def f(q):\n"
        "    return F.scaled_dot_product_attention(F.scaled_dot_product_attention(q), "
        "enable_gqa=1)\n"
        "from torch.nn import MultiheadAttention\n"
        "layer = MultiheadAttention(4, 2)"
    )
    first, second = find_forbidden(source, FORBIDDEN)
    assert (first.line, first.text[:12], second.line) == (3, "return F.sca", 5)
    assert (first.place, second.name) == ("line 3", LAYER)


NOT_FOUND = {
    "a function of one's own": "def scaled_dot_product_attention(q): return q\n"
    "x = scaled_dot_product_attention(1)",
    "a function of one's own beside a star": "from torch.nn.functional import *\n"
    "def scaled_dot_product_attention(q): return softmax(q)\nx = scaled_dot_product_attention(1)",
    "a method of one's own": "class A:\n    def scaled_dot_product_attention(self): pass\n"
    "    def f(self): return self.scaled_dot_product_attention()",
    "a class of one's own": "class MultiheadAttention: pass\nx = MultiheadAttention()",
    "a docstring": '"""Not F.scaled_dot_product_attention."""',
    "a comment": "import torch.nn.functional as F  # F.scaled_dot_product_attention",
    "a string": "x = 'torch.nn.functional.scaled_dot_product_attention'",
    "another library": "import mine as F\nF.scaled_dot_product_attention(q)",
    "a relative import": "from .functional import scaled_dot_product_attention\n"
    "scaled_dot_product_attention(q)",
    "an object of one's own": "def f(F): pass\nx.nn.functional.scaled_dot_product_attention",
    "a question": "import torch.nn.functional as F\nx = hasattr(F, 'scaled_dot_product_attention')",
    "a name that begins alike": "import torch.nn.functional as F\n"
    "F.scaled_dot_product_attention_math(q)",
    "what runs only as a program": "import torch.nn.functional as F\nif __name__ == '__main__':\n"
    "    F.scaled_dot_product_attention(q)",
    "an entry of a dictionary of one's own": "import torch.nn.functional as F\n"
    "x = {'scaled_dot_product_attention': 1}['scaled_dot_product_attention']",
    "a name that is not known": "import torch.nn.functional as F\ngetattr(F, name + 'ion')(q)",
    "a layer's function of one's own": "from torch.nn.functional import *\n"
    "def multi_head_attention_forward(q): return softmax(q)\nx = multi_head_attention_forward(1)",
    "a class of one's own that is flexible": "class flex_attention: pass\nx = flex_attention()",
    "a block of one's own": "import torch\nclass TransformerEncoderLayer(torch.nn.Module): pass\n"
    "x = TransformerEncoderLayer()",
    "an operator of one's own": "import torch\ntorch.ops.mine.multi_head_attention_forward(q)",
    "a mask for a flexible form": "from torch.nn.attention.flex_attention import "
    "create_block_mask\ncreate_block_mask(f, 1, 1, 2, 2)",
    "a mask that a block's class makes": "from torch import nn\n"
    "nn.Transformer.generate_square_subsequent_mask(4)",
    "a part of a layer": "from torch.nn import MultiheadAttention\nMultiheadAttention.merge_masks",
    "a transformer of graphs": "import torch.fx\nclass T(torch.fx.Transformer): pass",
    "a choice of kernels": "from torch.nn.attention import sdpa_kernel, SDPBackend\n"
    "sdpa_kernel(SDPBackend.MATH)",
    "an option that is off": "import torch\ntorch.f(q, enable_gqa=False)",
    "an option of one's own": "def f(enable_gqa): pass\nf(enable_gqa=True)",
}


@pytest.mark.parametrize("source", NOT_FOUND.values(), ids=NOT_FOUND)
def test_is_not_found(source):
    assert lines(source) == []


@pytest.mark.parametrize("wanted", [[ATTENTION], [LAYER], ["torch.nn.TransformerEncoder"]])
def test_what_does_more_is_found_and_what_does_less_is_not(wanted):
    source = """
import torch
torch.nn.functional.scaled_dot_product_attention(q)
torch.nn.functional.multi_head_attention_forward(q)
torch._transformer_encoder_layer_fwd(q)
"""
    found = find_forbidden(source, wanted)
    first = {ATTENTION: 3, LAYER: 4}.get(wanted[0], 5)
    assert [use.line for use in found] == list(range(first, 6))
    assert {use.name for use in found} == set(wanted)
    assert found[-1].by == "torch.ops.aten._transformer_encoder_layer_fwd"
    assert find_forbidden(source, [ATTENTION])[0].by == ""


DEEP = {
    "attributes": "a" + ".b" * 2500,
    "calls": "a" + "()" * 2500,
    "sums": "a" + " + b" * 2500,
    "strings": "getattr(a, 'x'" + " + 'x'" * 2500 + ")",
    "signs": "-" * 2500 + "a",
    "choices": "1 if a else " * 2500 + "a",
    "lambdas": "lambda: " * 2500 + "a",
}


@pytest.mark.parametrize("deep", DEEP.values(), ids=DEEP)
def test_what_is_as_deep_as_the_compiler_takes_is_searched(deep):
    source = f"import torch.nn.functional as F\ndef f(a, b):\n    {deep}\n"
    try:
        compile(source, "<deep>", "exec")
    except (MemoryError, RecursionError):
        pytest.skip("this Python refuses it")
    assert lines(source) == []
    assert lines(f"{source}    F.scaled_dot_product_attention(a)\n") == [4]


def test_a_long_chain_of_aliases_is_followed():
    chain = "\n".join(f"A{n} = A{n - 1}" for n in range(1, 10))
    source = f"import torch\nA0 = torch.nn.functional\n{chain}\nA9.scaled_dot_product_attention"
    assert lines(source) == [12]


def test_what_cannot_be_parsed_is_an_error():
    with pytest.raises(SyntaxError):
        find_forbidden("def f(:", FORBIDDEN)
