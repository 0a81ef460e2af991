"""Importing a student's file: as Python would, and by its definitions alone."""

import dataclasses
import sys

import pytest

from grader.execution.loading import load, load_source, self_contained

NAME = "submission_under_test"


@pytest.fixture(autouse=True)
def _forget():
    yield
    sys.modules.pop(NAME, None)


def whole(source: str):
    return load_source(source, "/nowhere/submission.py", NAME)


def definitions(source: str):
    return load_source(source, "/nowhere/submission.py", NAME, definitions_only=True)


class TestWhole:
    def test_from_a_file(self, tmp_path):
        path = tmp_path / "attention.py"
        path.write_text("import torch\nx = __file__, __name__\n", "utf-8")
        module = load(str(path), NAME)
        assert module.x == (str(path), NAME)
        assert not list(tmp_path.glob("__pycache__"))

    def test_is_registered_before_it_runs(self):
        source = """
from __future__ import annotations
import dataclasses, typing

@dataclasses.dataclass
class Cache:
    length: typing.ClassVar[int] = 3
    seen: dataclasses.InitVar[int] = 0
"""
        assert dataclasses.fields(whole(source).Cache) == ()

    def test_may_replace_itself(self):
        assert whole("import sys, types\nsys.modules[__name__] = types.SimpleNamespace(x=3)").x == 3

    def test_main_guards_are_not_entered(self):
        assert not hasattr(whole("if __name__ == '__main__':\n    x = 1"), "x")

    def test_annotations_of_the_grader_do_not_reach_it(self):
        assert whole("def f(x: int): pass").f.__annotations__ == {"x": int}

    def test_a_backslash_in_a_string_is_no_error(self):
        assert whole("x = '\\d'\ny = 1 is 1").x == "\\d"

    @pytest.mark.parametrize("source", ["def f(:", "x = (1", "return 1", "\tx = 1\n  y = 2"])
    def test_what_python_refuses(self, source):
        with pytest.raises(SyntaxError):
            whole(source)


KEPT = {
    "a function": "def x(): pass",
    "a class": "class x: pass",
    "a decorated function": "import functools\n@functools.cache\ndef x(): pass",
    "a number": "x = -3.5e2",
    "a named number": "x: int = 3",
    "a container": "x = {'a': [1, (2, 3)], **{}}",
    "an alias": "import math\nx = math.pi * 2",
    "a dtype": "import torch\nx = torch.float32",
    "a device": "import torch\nx = torch.device('cuda' if torch.cuda.is_available() else 'cpu')",
    "a lambda": "x = lambda q: undefined(q)",
    "a comprehension": "x = [i for i in range(3)]",
    "a named tuple": "from collections import namedtuple\nx = namedtuple('x', 'a b')",
    "an import that may fail": "try:\n    import nowhere\nexcept ImportError:\n    x = None",
    "a choice": "import sys\nif sys.version_info > (3, 0):\n    x = 1\nelse:\n    x = 2",
}
LEFT_OUT = {
    "a call": "x = []\nx.append(1)\nif x: raise SystemExit",
    "a loop": "for i in range(3):\n    raise SystemExit",
    "a result": "x = exit()",
    "a hidden call": "x = [exit() for _ in '1']",
    "a choice that calls": "if exit():\n    pass",
    "a guard": "if __name__ != '__main__':\n    raise SystemExit",
    "a walrus": "x = [(y := 1), exit()]",
    "a with": "with open('/nowhere'):\n    pass",
    "an assertion": "assert False",
    "a deletion": "del nothing",
    "a raise in a try": "try:\n    raise SystemExit\nfinally:\n    pass",
}


class TestDefinitionsAlone:
    @pytest.mark.parametrize("source", KEPT.values(), ids=KEPT)
    def test_keeps(self, source):
        assert hasattr(definitions(source), "x")

    @pytest.mark.parametrize("source", LEFT_OUT.values(), ids=LEFT_OUT)
    def test_leaves_out(self, source):
        assert definitions("def before(): pass\n" + source + "\ndef after(): pass").after

    def test_keeps_future_imports_and_lines(self):
        module = definitions(
            "'''words'''\nfrom __future__ import annotations\nexit()\ndef f(x: T): 1 / 0"
        )
        assert module.__doc__ == "words"
        assert module.f.__annotations__ == {"x": "T"}
        assert module.f.__code__.co_firstlineno == 4

    def test_what_a_definition_raises_is_raised(self):
        with pytest.raises(ZeroDivisionError):
            definitions("class A:\n    x = 1 / 0")
        with pytest.raises(SyntaxError):
            definitions("def f(:")


class TestMissingModules:
    def test_are_missed_where_they_are_used(self):
        module = definitions(
            "import torch, nowhere.plots as plt\n"
            "from elsewhere import (softmax,\n    layers as L)\n"
            "def right(): return torch.ones(1)\n"
            "def plot(): plt.show()\n"
            "def call(): softmax(1)\n"
            "def index(): L[0]\n"
            "def derive():\n    class Mine(L): pass\n"
        )
        assert module.right() == 1
        for name, missing in (("plot", "nowhere"), ("call", "elsewhere"), ("derive", "elsewhere")):
            with pytest.raises(ModuleNotFoundError, match=f"No module named '{missing}'") as caught:
                getattr(module, name)()
            assert caught.value.name == missing
        with pytest.raises(ModuleNotFoundError):
            module.index()

    def test_do_not_hide_what_is_there(self):
        assert definitions("import torch\nimport torch.nowhere\n").torch.ones(1) == 1

    def test_do_not_excuse_other_errors(self):
        with pytest.raises(ImportError, match="cannot import name"):
            definitions("from torch import nothing_of_that_name")

    def test_are_an_error_when_the_whole_file_runs(self):
        with pytest.raises(ModuleNotFoundError):
            whole("import nowhere")

    def test_star_imports(self):
        assert not hasattr(definitions("from nowhere import *"), "x")


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("import torch\ndef f(x): return torch.exp(x)\nx = torch.ones(3)\nf(x)", True),
        ("import torch\ndef f(x): return x * TABLE\nTABLE = torch.ones(3)", False),
        ("TABLE = {}\ndef f(x): return TABLE[x]\nTABLE.update(a=1)", False),
        ("TABLE = {}\ndef f(x): return TABLE[x]\nprint(1)", True),
        ("import torch\nclass A:\n    def g(self): return [SIZE for _ in '1']\nSIZE = g()", False),
        ("def f(x): return g(x)\ndef g(x): return x\nfor i in range(3): f(i)", True),
        ("def f(x):\n    y = x\n    return y\ny = exit()", True),
        ("SCALE = 2\ndef f(x): return SCALE\nif __name__ == '__main__': SCALE = exit()", True),
        ("def f(): return total\nfor total in range(3): pass", False),
    ],
)
def test_whether_definitions_stand_alone(source, expected):
    assert self_contained(source) is expected
