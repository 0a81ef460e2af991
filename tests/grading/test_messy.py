"""Right answers, and nearly right ones, written the way that people write them in a hurry."""

from __future__ import annotations

import re

import pytest

from grader.report.model import Report, Status

from ..toy import make_course
from .conftest import ROOT

ATTENTION = """
import math
import torch
{before}
def scaled_dot_product_attention(query, key, value, mask=None):
    {first}
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        allowed = mask != 0
        if not allowed.is_meta and not allowed.any(dim=-1).all():
            raise ValueError("a query has no key")
        scores = scores.masked_fill(~allowed, -math.inf)
    weights = scores.softmax(dim=-1)
    return weights @ value, weights
{after}
"""


def attention(first: str = "pass", *, before: str = "", after: str = "") -> str:
    return ATTENTION.format(first=first, before=before, after=after)


@pytest.fixture
def graded(grade, hand_in):
    """The student's report on a source for ``attention``."""
    return lambda source: grade(hand_in(source), ROOT).for_student()


def lost(report: Report) -> set[str]:
    return {check.family for check in report.checks if check.status is not Status.PASSED}


def words(report: Report) -> str:
    said = [*report.notes, *(check.message for check in report.checks)]
    return " ".join([*said, *(one.message for one in report.diagnosis)])


class TestInputsThatAreWrittenTo:
    """The check of just that is lost, and what autograd refuses; nothing else, and no more."""

    @pytest.mark.parametrize(
        ("first", "families"),
        [
            ("query += 1; query -= 1; query *= 2; query /= 2", {"purity", "gradient"}),
            # One check has a key that was expanded, which torch does not let be written to.
            ("key.mul_(0.5); query = query * 2", {"purity", "gradient", "layout"}),
            ("value *= 2; value = value / 2", {"purity", "gradient"}),
            ("value[:] = value + 1; value = value - 1", {"purity", "gradient"}),
            ("query.data.add_(1); query = query - 1", {"purity"}),
            ("value.detach().add_(1); value = value - 1", {"purity"}),
            ("mask is not None and mask.bitwise_or_(torch.zeros_like(mask)).ne_(0)", {"purity"}),
        ],
    )  # fmt: skip
    def test_cost_what_they_cost(self, graded, first, families):
        report = graded(attention(first))
        assert lost(report) <= families
        assert "purity" in lost(report)
        assert "wrote into its input" in words(report)
        if "gradient" in lost(report):
            assert "while gradients of it are asked for; torch refuses that" in words(report)
        for untrue in ("backward still needs", "leaks", "Changing one item", "allowed the result"):
            assert untrue not in words(report)


@pytest.fixture(scope="module")
def toys(tmp_path_factory):
    """A course whose function triples, and adds one: its checks are quick."""
    return make_course(tmp_path_factory.mktemp("toys"))


@pytest.fixture
def tripled(grade, hand_in, toys):
    """The student's report on a right answer for ``scale``, with lines around it."""

    def report(before: str = "", *, body: str = "return x * 3 + 1", after: str = "") -> Report:
        source = f"import torch\n{before}\ndef scale(x):\n    {body}\n{after}\n"
        return grade(hand_in(source, "scale.py"), toys, "scale").for_student()

    return report


SETTINGS = {
    "torch.set_default_device('cuda')": "sets the default device to cuda",
    "torch.set_default_device('mps')": "sets the default device to mps",
    "torch.set_default_device('meta')": "sets the default device to meta",
    "torch.set_default_device('xla')": "sets the default device to xla",
    "torch.device('cuda:1').__enter__()": "sets the default device to cuda:1",
    "torch.set_default_dtype(torch.float64)": "sets the default dtype to float64",
    "torch.set_grad_enabled(False)": "switches gradients off",
    "torch.no_grad().__enter__()": "switches gradients off",
    "mode = torch.inference_mode(); mode.__enter__()": "leaves inference mode on",
    "torch.set_num_threads(2)": "sets the number of threads to 2",
    "torch.manual_seed(7)": "sets the seed of torch's random numbers to 7",
    "torch._C._set_deterministic_algorithms(True)": "switches deterministic algorithms on",
    "torch.autograd.set_detect_anomaly(True)": "switches anomaly detection on",
    "torch.autocast('cpu', torch.bfloat16).__enter__()": "switches autocast on cpu on",
    "torch.set_float32_matmul_precision('medium')": "the float32 matmul precision to medium",
    "torch.backends.mkldnn.set_flags(False)": "switches mkldnn off",
    "torch.backends.cudnn.benchmark = True": "switches cudnn benchmark on",
    "torch.set_printoptions(precision=2)": "changes the print options (precision)",
    "from torch.overrides import TorchFunctionMode as M; M().__enter__()": "torch functions on",
    "torch.autograd.graph.save_on_cpu().__enter__()": "leaves hooks for saved tensors on",
    "import numpy; numpy.seterr(all='raise')": "changes numpy's errors",
    "import os; os.environ['LEVEL'] = '3'": "changes environment variables (LEVEL)",
    "import os; os.chdir('/')": "sets the working directory to /",
    "import sys; sys.setrecursionlimit(4321)": "sets the recursion limit to 4321",
    "import sys; sys.stdout = None": "changes sys.stdout",
    "import sys; sys.settrace(lambda *_: None)": "changes the trace function",
    "import warnings; warnings.simplefilter('error')": "changes the warnings filters",
    "import signal; signal.signal(signal.SIGALRM, print); signal.setitimer(0, 0.3)":
        "changes the handlers of signals (SIGALRM)",
    "import gc; gc.disable()": "switches garbage collection off",
    "import gc; gc.set_threshold(1)": "changes the threshold",
    "import locale; locale.setlocale(locale.LC_ALL, 'C')": "sets the locale to C",
}  # fmt: skip


class TestWhatIsSetForTheWholeProcess:
    """It is undone, and said, and the answer is graded by what it does."""

    @pytest.mark.parametrize(("line", "said"), SETTINGS.items(), ids=SETTINGS)
    def test_at_import(self, tripled, line, said):
        report = tripled(line)
        assert report.score.earned == report.score.possible
        (note,) = report.notes
        assert said in note
        assert note.startswith("Your file ")
        assert note.endswith(" when it is imported; that was undone for grading.")

    def test_all_at_once_is_said_in_one_sentence_that_ends(self, tripled):
        some = [line for line in SETTINGS if "settrace" not in line and "'error'" not in line]
        (note,) = tripled("\n".join(some)).notes
        assert re.search(r" and changes \d+ settings more when it is imported", note)

    @pytest.mark.parametrize(
        "line", ["torch.set_default_device('cuda')", "torch.set_default_dtype(torch.float64)",
                 "torch.set_grad_enabled(False)", "torch.set_num_threads(2)"],
    )  # fmt: skip
    def test_in_a_call_it_lasts_for_the_check(self, tripled, line):
        report = tripled(body=f"y = x * 3 + 1; {line}; return y")
        assert report.score.earned == report.score.possible

    def test_a_file_that_sets_nothing_is_told_nothing(self, tripled):
        harmless = "import random, os, sys, numpy\nrandom.random(); torch.nn.Linear(2, 2)"
        assert tripled(harmless).notes == []

    def test_a_tensor_of_that_device_at_import_is_named_with_its_line(self, tripled):
        report = tripled("torch.set_default_device('cuda')\nTHREE = torch.ones(1) * 3")
        assert "line 3" in words(report)
        assert "CUDA" in words(report)
        assert "disturbed" not in words(report)


COMPILED = {
    "inductor": "scale = torch.compile(scale)",
    "eager": "scale = torch.compile(scale, backend='eager', fullgraph=True)",
    "aot_eager": "scale = torch.compile(fullgraph=True, dynamic=True, backend='aot_eager')(scale)",
    "cudagraphs": "scale = torch.compile(model=scale, backend='cudagraphs')",
    "its own": "scale = torch.compile(scale, backend=lambda graph, inputs: graph.forward)",
    "options": "scale = torch.compile(scale, mode='max-autotune')",
    "script": "scale = torch.jit.script(scale)",
    "trace": "scale = torch.jit.trace(scale, torch.ones(2))",
    "a module's": "layer = torch.nn.Identity(); layer.compile(); old = scale\n"
                  "def scale(x): return layer(old(x))",
    "in the call": "old = scale\ndef scale(x): return torch.compile(old)(x)",
}  # fmt: skip


class TestCodeThatCompilesItself:
    @pytest.mark.parametrize("how", COMPILED.values(), ids=COMPILED)
    def test_runs_as_it_is_written(self, tripled, how):
        report = tripled(after=how)
        assert report.score.earned == report.score.possible
        (note,) = report.notes
        assert note.endswith("it was graded as it is written, without being compiled.")


WAITING = {
    "breakpoint": "breakpoint()",
    "pdb": "import pdb; pdb.set_trace()",
    "another debugger": "import bdb; bdb.Bdb().set_trace()",
    "input": "input('go on? ')",
    "console": "import code; code.interact(local=locals())",
}


class TestCodeThatWaitsForSomebody:
    @pytest.mark.parametrize("line", WAITING.values(), ids=WAITING)
    def test_is_told_which_line_does(self, tripled, line):
        report = tripled(body=f"y = x * 3 + 1\n    {line}\n    return y")
        assert report.score.earned == 0
        assert "EOFError at line 5. This line waits for somebody to type" in words(report)
        assert {check.status for check in report.checks} == {Status.ERROR}

    @pytest.mark.parametrize("line", WAITING.values(), ids=WAITING)
    def test_at_import_costs_nothing(self, tripled, line):
        report = tripled(after=line)
        assert report.score.earned == report.score.possible
        assert "at line 5 when it was imported" in words(report)


ELSEWHERE = {
    "class Answer:\n    def scale(self, x): return x * 3 + 1": "It is in the class Answer",
    "class Outer:\n    class Inner:\n        def scale(self, x): ...": "in the class Outer",
    "def solve():\n    def scale(x): return x * 3 + 1\n    return scale": "the function solve",
    "if __name__ == '__main__':\n    def scale(x): return x * 3 + 1": "by itself: move it out",
}


@pytest.mark.parametrize(("source", "said"), ELSEWHERE.items(), ids=ELSEWHERE.values())
def test_where_a_function_is_that_nobody_finds(grade, hand_in, toys, source, said):
    report = grade(hand_in(source, "scale.py"), toys, "scale").for_student()
    assert "Your file does not define scale. It is " in words(report)
    assert said in words(report)
