"""What can keep something between calls is never taken for what cannot."""

from __future__ import annotations

from pathlib import Path

import pytest

from grader.execution.statelessness import is_stateless

ROOT = Path(__file__).parents[2]
REFERENCES = sorted((ROOT / "solutions").glob("*/*.py"))

PLAIN = {
    "a function": "import torch\ndef f(x): return torch.relu(x)",
    "helpers and constants": (
        "import math\nfrom torch import Tensor\nimport torch.nn.functional as F\n"
        "BLOCKED: float = float('-inf')\nSCALE = -1 / 2, 'x'\n"
        "def _scaled(x: Tensor, by: float = BLOCKED) -> 'Tensor': return x * by * math.pi\n"
        "def f(x: Tensor | None = None) -> Tensor: return F.softmax(_scaled(x), dim=-1)\n"
    ),
    "a module": (
        "import torch.nn as nn\nclass A(nn.Module):\n    '''Doc.'''\n    width = 3\n"
        "    def __init__(self, d):\n        super().__init__()\n"
        "        self.layer, self.use_bias = nn.Linear(d, d), True\n"
        "        self.register_buffer('mask', None)\n        self._last = None\n"
        "    @property\n    def size(self): return self.width\n"
        "    def forward(self, x):\n        self._last = x\n        return self.layer(x)\n"
    ),
    "writes into what is its own": (
        "import torch\ndef f(x):\n    out = torch.zeros_like(x)\n    out[..., 0] += x[..., 0]\n"
        "    parts = {}\n    parts['a'] = [out]\n    del parts['a']\n"
        "    return out.masked_fill_(x > 0, 0)\n"
    ),
    "its own errors": "def f(x):\n    if x is None: raise ValueError('no x')\n    return len(x)",
    "a demonstration": "def f(x): return x\nif __name__ == '__main__':\n    a = [f(1)]\n",
    "without gradients": "import torch\n@torch.no_grad()\ndef f(x): return x",
    "its own attributes by name": (
        "from torch import nn\nclass A(nn.Module):\n    def __init__(self):\n"
        "        super().__init__()\n        setattr(self, 'q', nn.Linear(2, 2))\n"
        "    def forward(self, x): return getattr(self, 'q')(x)\n"
    ),
    "closures": "def f(x):\n    def g(y): return x + y\n    return sum(g(one) for one in (1, 2))",
}

KEEPING = {
    "a global": "n = 0\ndef f():\n    global n\n    n += 1\n    return n",
    "a list": "seen = []\ndef f(x):\n    seen.append(x)\n    return len(seen)",
    "a dictionary": "cache = {}\ndef f(x): return cache.setdefault('x', x)",
    "a comprehension": "cache = [0 for _ in range(3)]\ndef f(x): return cache",
    "a default": "def f(x, seen=[]):\n    seen.append(x)\n    return len(seen)",
    "a default by name": "def f(x, *, seen={}): return seen.setdefault(0, x)",
    "a lambda's default": "def f(x): return x\ng = lambda x, s=[]: s.append(x)",
    "an inner default that is a call": "def f(x):\n    return x\ndef g(x, y=dict()): return y",
    "an attribute of a function": "def f(x):\n    f.last = x\n    return x",
    "by another name": "def f(x):\n    me = f\n    me.last = x\n    return x",
    "an attribute of a class": "class A:\n    last = None\n    def f(self, x): A.last = x",
    "of the own class": "class A:\n    def f(self, x): type(self).last = x",
    "of the own class by name": "class A:\n    def f(self, x): self.__class__.last = x",
    "a class method": "class A:\n    @classmethod\n    def f(cls, x): cls.last = x",
    "a list of a class": "class A:\n    seen = []\n    def f(self, x): self.seen.append(x)",
    "a layer of a class": "from torch import nn\nclass A(nn.Module):\n    layer = nn.Linear(2, 2)",
    "an attribute of a module": "import torch\ndef f(x):\n    torch.last = x",
    "of a module by another name": "import torch\nt = torch\ndef f(x):\n    t.last = x",
    "a module's dictionary": "import torch\ndef f(x):\n    torch.__dict__['last'] = x",
    "setattr": "import torch\ndef f(x): setattr(torch, 'last', x)",
    "getattr by another name": "import torch\ng = getattr\ndef f(x): g(torch, 'manual_seed')(x)",
    "globals": "def f(x): return globals().setdefault('x', x)",
    "vars": "import torch\ndef f(x): return vars(torch).setdefault('x', x)",
    "exec": "def f(x): exec('global y; y = 1')",
    "the builtins": "import builtins\ndef f(x): builtins.x = x",
    "the modules": "import sys\ndef f(x): sys.modules['x'] = x",
    "a file": "def f(x): return open('/tmp/x').read()",
    "the environment": "import os\ndef f(x): return os.environ.setdefault('x', 'y')",
    "a decorator": "import functools\n@functools.cache\ndef f(x): return x",
    "a decorator of its own": (
        "def memo(g):\n    kept = {}\n    def h(x): return kept.setdefault(0, g(x))\n    return h\n"
        "@memo\ndef f(x): return x"
    ),
    "a closure": "def make():\n    kept = []\n    return lambda x: kept.append(x)\nf = make()",
    "nonlocal": "def f(x):\n    n = 0\n    def g():\n        nonlocal n\n    return g",
    "a generator": "def f(x):\n    yield x\ng = f(1)",
    "a base that is made": "def make(): return object\nclass A(make()): pass",
    "a metaclass": "class M(type): n = 0\nclass A(metaclass=M): pass",
    "a class that keeps": "from weird import Keeper\nclass A(Keeper): pass",
    "a setting": "import torch\ndef f(x): torch.set_default_dtype(torch.float64)",
    "a setting by its own name": "from torch import set_default_dtype as s\ndef f(x): s(x)",
    "the generator": "import torch\ndef f(x): torch.manual_seed(0)",
    "its own random numbers": "import random\ndef f(x): return random.random()",
    "chance": "import numpy as np\ndef f(x): return np.random.default_rng().random()",
    "chance by its own name": "from numpy.random import default_rng as g\ndef f(x): return g()",
    "chance by its module's name": "import numpy.random as r\ndef f(x): return r.default_rng()",
    "the clock": "import time\ndef f(x): return time.time()",
    "a backend": "import torch\ndef f(x): torch.backends.mkldnn.enabled = False",
    "a backend that is imported": "from torch.backends import mkldnn as m\ndef f(x): m.flags(x)",
    "a private module": "import torch._C as c\ndef f(x): return c.last(x)",
    "a private part": "import torch\ndef f(x): torch._C._set_default_dtype(x)",
    "a compiled function": "import torch\ndef g(x): return x\ndef f(x): return torch.compile(g)(x)",
    "a hook for all": (
        "import torch\ndef f(x): torch.nn.modules.module.register_module_forward_hook(x)"
    ),
    "all names": "from torch import *\ndef f(x): return x",
    "memory as it is": "import torch\ndef f(x): return torch.empty(3)",
    "memory by another name": "import torch\nnew = torch.empty_like\ndef f(x): return new(x)",
    "memory of a type": "import torch\ndef f(x): return torch.Tensor(2, 3)",
    "memory of a type, renamed": "import torch\nT = torch.FloatTensor\ndef f(x): return T(2)",
    "memory of another type": "import torch\ndef f(x): return torch.LongTensor(2, 3)",
    "memory of an array": "import numpy as np\ndef f(x): return np.ndarray((2, 3))",
    "memory like another's": "def f(x): return x.new(2, 3)",
    "where it lies": "def f(x): return x.data_ptr() % 64",
    "an address": "def f(x): return id(x) % 64",
    "something that ran": "x = [1]\nx.append(2)\ndef f(): return x",
    "a loop that ran": "for i in range(3):\n    pass\ndef f(): return i",
    "its own file": "from . import other\ndef f(): return other",
    "a name that is not there": "def f(x): return last",
}


@pytest.mark.parametrize("source", PLAIN.values(), ids=PLAIN)
def test_keeps_nothing(source):
    assert is_stateless(source)


@pytest.mark.parametrize("source", KEEPING.values(), ids=KEEPING)
def test_may_keep_something(source):
    assert not is_stateless(source)


def test_most_of_what_is_handed_in_keeps_nothing():
    wrong = sorted((ROOT / "tests" / "submissions" / "attention" / "wrong").glob("*.py"))
    found = [is_stateless(path.read_text("utf-8")) for path in wrong]
    assert sum(found) > 0.9 * len(found)
    assert any(is_stateless(path.read_text("utf-8")) for path in REFERENCES)


@pytest.mark.parametrize("source", ["def f(:", "x = '\0'", "(" * 1000, "-" * 100_000 + "1"])
def test_what_cannot_be_read_raises_as_the_parser_does(source):
    with pytest.raises((SyntaxError, ValueError, RecursionError, MemoryError)):
        is_stateless(source)
