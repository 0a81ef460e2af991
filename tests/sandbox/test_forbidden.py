"""Finding forbidden calls in source that is parsed and never run."""

import pytest

from grader.sandbox.forbidden import find_forbidden

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
    "an option that is off": "import torch\ntorch.f(q, enable_gqa=False)",
    "an option of one's own": "def f(enable_gqa): pass\nf(enable_gqa=True)",
}


@pytest.mark.parametrize("source", NOT_FOUND.values(), ids=NOT_FOUND)
def test_is_not_found(source):
    assert lines(source) == []


def test_what_cannot_be_parsed_is_an_error():
    with pytest.raises(SyntaxError):
        find_forbidden("def f(:", FORBIDDEN)
