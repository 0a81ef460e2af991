"""What a worker can make the session hold: measured, in the process that grades."""

from __future__ import annotations

import gc
import json
import subprocess
import sys
import weakref
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch

from grader.session.errors import CheckFailure
from grader.session.student.proxy import Student
from grader.wire.budget import (
    CHECK_MESSAGES,
    HELD_BYTES,
    MODULE_NAMES,
    NAME_CHARACTERS,
    REPLY_NUMBERS,
    Budget,
)
from grader.wire.errors import OverBudget, ProtocolError, WorkerLost
from grader.wire.messages import TensorSpec
from tests.session.measuring import peak

linux = pytest.mark.skipif(sys.platform != "linux", reason="sessions are forked on Linux")
ROOT = Path(__file__).parents[2]
MIB = 1 << 20

COURSE = {
    "assignments/course.toml": 'title = "One layer"\norder = ["layer"]\n',
    "assignments/layer/assignment.toml": """
title = "A layer"
[exports.Layer]
options = ["width"]
[exports.Layer.forward]
arguments = ["x"]
returns = ["output", "weights"]
""",
    "assignments/layer/layer.py": "class Layer: ...\n",
    "assignments/layer/test_public.py": """
import torch
from grader.suite import assert_shape, check, demonstration

X = torch.linspace(0, 1, 6).reshape(2, 3)

@check("shape", points=1, title="Two results")
def test_two(student):
    student.Layer(width=3)(X)

@demonstration("the example")
def show_example(student):
    output, weights = student.Layer(width=3)(X)
    return {"output": output, "weights": weights}
""",
    "solutions/layer/layer.py": """
import torch
from torch import nn

class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.W = nn.Linear(width, width)

    def forward(self, x):
        scores = self.W(x)
        weights = scores.softmax(-1)
        return weights * x, weights
""",
    "solutions/layer/faults.toml": """
[no-softmax]
edit = [["scores.softmax(-1)", "scores.sigmoid()"]]
belief = "Any squashing is enough."
message = "Your weights are not shares."
hint = "What do they sum to?"
fails = ["values"]
""",
    "tests/hidden/test_layer.py": """
import torch
from grader.suite import assert_close, assert_rows_sum_to_one, check, probe

def pair(student, reference, draw):
    weights = {"W.weight": draw.linear(3, 3), "W.bias": draw.linear(1, 3)[0]}
    made = [module.Layer(width=3) for module in (student, reference)]
    for module in made:
        module.load_weights(weights)
    return made

@check("values", points=2, title="The values are right")
def test_values(student, reference, draw):
    x = draw.normal(2, 3)
    for mine, theirs in zip(*(made(x) for made in pair(student, reference, draw))):
        assert_close(mine, theirs, "result")

@check("values", points=1, title="Shares sum to one")
def test_shares(student, draw):
    results = [student.Layer(width=3)(draw.normal(2, 3)) for _ in range(8)]
    for _, weights in results:
        assert_rows_sum_to_one(weights)

@check("parameters", points=1, title="It learns")
def test_learns(student, reference, draw):
    mine, theirs = pair(student, reference, draw)
    x = draw.normal(2, 3)
    for made in (mine, theirs):
        output, _ = made(x)
        (output * draw.normal(*output.shape)).sum().backward()
    if not any(parameter.grad is not None for parameter in mine.parameters()):
        raise AssertionError

@check("parameters", points=1, title="What it holds stays")
def test_holds(student, reference, draw):
    mine, theirs = pair(student, reference, draw)
    before = [parameter.clone() for parameter in mine.parameters()]
    mine(draw.normal(2, 3))
    assert_close(mine.W.weight, theirs.W.weight, "weight")

@probe(*({"length": n} for n in range(2, 22)))
def probe_values(student, draw, length):
    made = student.Layer(width=3)
    made.load_weights({"W.weight": draw.linear(3, 3), "W.bias": draw.linear(1, 3)[0]})
    output, weights = made(draw.normal(length, 3))
    return {"output": output, "weights": weights}
""",
}

LAYER = """
import collections, torch
from torch import nn
{top}
class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.W = nn.Linear(width, width)
        {init}

    def right(self, x):
        weights = self.W(x).softmax(-1)
        return weights * x, weights

    {methods}

    def forward(self, x):
        output, weights = self.right(x)
        {body}
        return output, weights
"""


def layer(*, top: str = "", init: str = "pass", methods: str = "", body: str = "pass") -> str:
    return LAYER.format(top=top, init=init, methods=methods, body=body)


def buffer(dtype: str, numbers: int) -> str:
    return f'self.register_buffer("mask", torch.zeros({numbers}, dtype=torch.{dtype}))'


def parameter(dtype: str, numbers: int) -> str:
    zeros = f"torch.zeros({numbers}, dtype=torch.{dtype})"
    return f"self.spare = nn.Parameter({zeros}, requires_grad={dtype[0] in 'fb'})"


DTYPES = ("bool", "bfloat16", "complex64")
MANY = REPLY_NUMBERS - (1 << 16)

RIGHT = {
    **{f"a buffer of {dtype}": layer(init=buffer(dtype, 2 * MANY)) for dtype in DTYPES},
    "results in a named tuple": layer(
        top='Pair = collections.namedtuple("Pair", ["output", "weights"])',
        body="return Pair(output, weights)",
    ),
    "300 parameters": layer(
        init="self.more = nn.ParameterList([nn.Parameter(torch.ones(9)) for _ in range(300)])"
    ),
    "much printed": layer(body='print("spam " * 200_000)'),
    "caches that grow": layer(top="KEPT = []", body="KEPT.append(torch.ones(100_000))"),
}
"""Full marks."""

HEAVY = {
    **{f"a parameter of {dtype}": layer(init=parameter(dtype, MANY)) for dtype in DTYPES},
    **{
        f"results of {dtype}": layer(body=f"return 2 * [torch.ones({MANY // 2}).to(torch.{dtype})]")
        for dtype in DTYPES
    },
    "results in the second and third call": layer(
        top="CALLS = []",
        body=f"CALLS.append(1); weights = torch.ones({MANY}) if len(CALLS) % 4 > 1 else weights",
    ),
    "results that grow": layer(
        top="CALLS = []",
        body="CALLS.append(1); weights = weights.expand(10_000 * len(CALLS), 2, 3)",
    ),
    "expanded results": layer(body="weights = weights.sum().expand(10 ** 9)"),
    "results that are right and as many as may be": layer(
        body=f"weights = weights.repeat(1, {MANY // 9})"
    ),
    "a gradient": layer(
        init=parameter("float32", MANY), body="output = output + 0 * self.spare.sum()"
    ),
    "inputs written large": layer(body="x.data = torch.ones(1_000_000)"),
    "4000 tensors": layer(body="return tuple(x for _ in range(4000))"),
    "nested results": layer(
        body="for _ in range(12): output = [output, output]\n        return output"
    ),
    "a named tuple of many": layer(
        top='Many = collections.namedtuple("Many", [f"a{n}" for n in range(2000)])',
        body="return Many(*[x] * 2000)",
    ),
    "long texts": layer(body='return "x" * 60_000, ["y" * 9_000] * 100'),
    "a long error": layer(body='raise type("E" * 99_999, (ValueError,), {})("x" * 9_999_999)'),
    "thousands of objects": layer(
        body="return tuple([object() for _ in range(2000)] for _ in 'ab')"
    ),
    "a deep traceback": layer(
        methods="def down(self, n): return self.down(n - 1) if n else [][0]", body="self.down(700)"
    ),
    "deep names": layer(
        methods="def named_modules(self, *given, **more):\n"
        '        for n in range(999): yield f"{n}" + ".a" * 250, self'
    ),
    "long names": layer(init='self.register_buffer("n" * 99_999, torch.ones(1))'),
    "many names": layer(init="for n in range(9000): self.register_buffer(str(n), torch.ones(1))"),
}
"""What takes as much as it can."""


class Graded(NamedTuple):
    report: Any
    peak: int
    held: int

    @property
    def earned(self) -> int:
        return int(self.report["score"]["earned"])

    @property
    def words(self) -> str:
        return "\n".join(check["message"] for check in self.report["checks"])


class Measuring:
    """Grades sources of one course in forks, and measures these."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        for name, text in COURSE.items():
            path = folder / "course" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.session.measuring"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    def __call__(
        self,
        source: str,
        assignment: str = "layer",
        course: Path | None = None,
        *,
        unlimited: bool = False,
    ) -> Graded:
        file = self._folder / f"{assignment}.py"
        file.write_text(source)
        course = course or self._folder / "course"
        job: dict[str, Any] = {
            "course": str(course),
            "submission": str(file),
            "assignment": assignment,
            "seed": 1,
        }
        job["unlimited"] = unlimited
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps(job) + "\n")
        self._process.stdin.flush()
        told = json.loads(self._process.stdout.readline())
        assert told["fault"] == ""
        return Graded(told["report"], told["peak"], told["held"])

    def course_with(self, **files: str) -> Path:
        """Another course, with other texts of some files, named by their stems."""
        folder = self._folder / "other"
        for name, text in COURSE.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(files.get(path.stem, text))
        return folder

    def close(self) -> None:
        self._process.communicate()


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Measuring]:
    made = Measuring(tmp_path_factory.mktemp("measured"))
    yield made
    made.close()


@linux
class TestPeaks:
    @pytest.mark.parametrize("source", RIGHT.values(), ids=RIGHT)
    def test_what_is_right_takes_little_and_earns_all(self, graded, source):
        found = graded(source)
        assert found.earned == 6, found.words
        assert found.peak < 400 * MIB
        assert found.held == 0

    @pytest.mark.parametrize("source", HEAVY.values(), ids=HEAVY)
    def test_what_is_heavy_takes_less_than_a_gibibyte(self, graded, source):
        found = graded(source)
        assert found.report["status"] == "graded"
        assert found.peak < 800 * MIB
        assert found.held == 0

    def test_a_mask_for_every_length_costs_an_honest_answer_nothing(self, graded):
        source = (ROOT / "solutions/mha/mha.py").read_text()
        head, line, tail = source.partition("super().__init__()\n")
        mask = '        self.register_buffer("tril", torch.tril(torch.ones(2048, 2048)))\n'
        found = graded(head + line + mask + tail, "mha", ROOT)
        assert found.report["score"] == {"earned": 60, "possible": 60}, found.words
        assert found.peak < 600 * MIB
        assert found.held == 0


@linux
class TestWords:
    """Students read which of theirs is too large, and how large it may be."""

    @pytest.mark.parametrize(
        ("source", "words"),
        [
            (
                layer(body="weights = torch.ones(5_000_000)"),
                "returned a tensor that is larger than",
            ),
            (
                layer(body="return 2 * [torch.ones(3_000_000)]"),
                "returned tensors that are larger tog",
            ),
            (HEAVY["many names"], "returned a module with more parts or names"),
            (HEAVY["deep names"], "returned a module with more parts or names"),
            (
                layer(
                    init=parameter("float32", 5_000_000),
                    body="output = output + self.spare.sum() * 0",
                ),
                "Your backward pass gives a tensor that is larger",
            ),
            (
                layer(init=parameter("float32", 5_000_000)),
                "Your module holds a tensor that is larger",
            ),
        ],
    )
    def test_of_what_is_too_large(self, graded, source, words):
        said = graded(source).words
        assert words in said
        assert "numbers are allowed" in said or f"{MODULE_NAMES:,} parameters" in said
        assert "disturbed" not in said


GREEDY = """
import torch
from grader.suite import check

@check("shape", points=1, title="As large as they say")
def test_size(student):
    torch.empty(student.Layer(width=3)(torch.ones(1, 3))[0].numel() * (1 << 30), dtype=torch.uint8)

@check("values", points=1, title="Another")
def test_other(student):
    student.Layer(width=3)(torch.ones(1, 3))
"""
LARGE_CONSTANT = GREEDY + "\nHUGE = torch.zeros(1).expand(1 << 30)\n"


@linux
class TestTheLastLine:
    """Against a suite that takes memory as a submission says, no budget helps."""

    def test_it_costs_the_check(self, graded):
        found = graded(layer(), course=graded.course_with(test_public=GREEDY, test_layer=""))
        first, second = found.report["checks"]
        assert (first["status"], second["status"]) == ("failed", "passed")
        assert "more memory to look at than the grader has" in first["message"]

    def test_without_it_the_memory_is_taken(self, graded):
        course = graded.course_with(test_public=GREEDY, test_layer="")
        assert graded(layer(), course=course, unlimited=True).earned == 2

    def test_outside_of_a_check_there_is_no_score(self, graded):
        course = graded.course_with(test_public=LARGE_CONSTANT, test_layer="")
        found = graded(layer(), course=course)
        assert found.report["status"] == "not-gradable"
        assert "more memory to look at" in found.report["message"]
        assert {check["status"] for check in found.report["checks"]} == {"not-run"}


EXPORTS: dict[str, Any] = {
    "anything": {},
    "Layer": {"options": ["width"], "forward": {"returns": ["output", "weights"]}},
}
FUNCTION = "def anything(*given): return [10 * thing for thing in given]\n"


@pytest.fixture
def without_collecting() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def call(student: Student) -> None:
    student.anything(torch.ones(9), torch.ones(9))


def differentiate(student: Student) -> None:
    x = torch.ones(9, requires_grad=True)
    student.anything(x)[0].sum().backward()
    assert x.grad is not None


def build_and_differentiate(student: Student) -> None:
    made = student.Layer(width=3)
    made.load_weights({"W.weight": torch.ones(3, 3), "W.bias": torch.ones(3)})
    output, _ = made(torch.ones(2, 3, requires_grad=True))
    output.sum().backward()
    assert made.W.weight.grad is not None
    assert made.mask.sum() == 0


def train(student: Student) -> None:
    made = student.Layer(width=3)
    for _ in range(2):
        made(torch.ones(2, 3))[0].sum().backward()
        with torch.no_grad():
            made.W.weight -= made.W.weight.grad
    made.double()
    made.W(torch.ones(1, 3).double())


def fail(student: Student) -> None:
    made = student.Layer(width=3)
    result = made(torch.ones(2, 3))
    with pytest.raises(RuntimeError):
        made(result[0][:, :2])


@pytest.mark.parametrize("use", [call, differentiate, build_and_differentiate, train, fail])
def test_no_tensor_of_a_worker_outlives_its_use(hand_in, without_collecting, use):
    student = hand_in(FUNCTION + layer(init=buffer("float32", 9)), **EXPORTS)
    use(student)
    assert hand_in.last.process.budget.held == 0


def test_cycles_of_a_suites_own_do_not_add_up(hand_in, without_collecting):
    student = hand_in("import torch\ndef anything(): return torch.ones(3_000_000)", anything={})
    for _ in range(12):
        hand_in.last.begin("a check")
        knot = [student.anything()]
        knot.append(knot)
    assert hand_in.last.process.budget.held < HELD_BYTES / 2


def test_a_part_works_when_the_whole_is_gone(hand_in, without_collecting):
    student = hand_in(layer(), **EXPORTS)
    made = student.Layer(width=3)
    gone, part, weight = weakref.ref(made), made.W, made.W.weight
    x = torch.randn(2, 3)
    expected = torch.nn.functional.linear(x, made.W.weight, made.W.bias)
    del made
    assert gone() is None
    assert torch.allclose(part(x), expected, atol=1e-6)
    part(x).sum().backward()
    assert weight.grad is not None
    assert student.Layer(width=3).W.weight.shape == (3, 3)


class TestReading:
    """Numbers cross when somebody looks, and not before."""

    @pytest.fixture
    def made(self, hand_in, monkeypatch):
        self.reads = []
        student = hand_in(layer(init=buffer("float32", 100_000)), **EXPORTS)
        process = hand_in.last.process
        ask = process.ask

        def note(request, *more):
            if type(request).__name__ == "Read":
                self.reads.append(request.names)
            return ask(request, *more)

        monkeypatch.setattr(process, "ask", note)
        return student.Layer(width=3)

    @pytest.mark.parametrize(
        "look",
        [
            lambda made: sum(p.numel() for p in made.parameters()),
            lambda made: [(p.shape, p.dtype, p.dim(), p.requires_grad) for p in made.parameters()],
            lambda made: [b.size() for b in made.buffers()],
            lambda made: made(torch.ones(2, 3))[0].sum().backward(),
            lambda made: made.requires_grad_(False).eval(),
            lambda made: made.load_weights({"W.weight": torch.ones(3, 3)}),
            lambda made: made.double()(torch.ones(1, 3).double()),
        ],
    )
    def test_without_numbers(self, made, look):
        look(made)
        assert self.reads == []

    @pytest.mark.parametrize(
        "look",
        [
            lambda made: made.W.weight + 1,
            lambda made: torch.stack([made.W.bias, made.W.bias]),
            lambda made: made.W.weight.detach(),
            lambda made: made.W.weight.data,
            lambda made: made.W.weight.tolist(),
            lambda made: bool((made.W.bias == 0).all()),
            lambda made: torch.nn.init.zeros_(made.W.weight),
        ],
    )
    def test_small_ones_together(self, made, look):
        look(made)
        made.state_dict()["W.bias"].sum()
        assert self.reads[0] == ["W.weight", "W.bias"] or self.reads[0] == ["W.bias", "W.weight"]
        assert self.reads[1:] in ([], [["mask"]])

    def test_a_large_one_alone(self, made):
        assert made.mask.sum() == 0
        assert self.reads == [["mask"]]
        assert type(made.mask) is torch.Tensor
        assert made.mask.mean() == 0
        assert len(self.reads) == 1

    def test_what_was_replaced_meanwhile(self, hand_in):
        grown = layer(init=buffer("float32", 3), body="self.mask = torch.ones(4)")
        made = hand_in(grown, **EXPORTS).Layer(width=3)
        made(torch.ones(1, 3))
        with pytest.raises(CheckFailure, match="has replaced a parameter or buffer"):
            made.mask + 1
        made.double()
        assert made.mask.tolist() == [1, 1, 1, 1]


class TestBudget:
    """A worker that was made to send more than it would by itself."""

    def spec(self, numbers: int, dtype: str = "uint8") -> TensorSpec:
        return TensorSpec(dtype, [numbers], numbers)

    @pytest.mark.parametrize(
        "tensors",
        [
            [TensorSpec("uint8", [REPLY_NUMBERS + 1], REPLY_NUMBERS + 1)],
            [TensorSpec("uint8", [REPLY_NUMBERS // 2 + 1], 1)] * 2,
            [TensorSpec("uint8", [1], 1)] * 5000,
            [TensorSpec("uint8", [2**62] * 9, 1)],
            [TensorSpec("uint8", [-1, REPLY_NUMBERS], -5)],
        ],
    )
    def test_of_one_reply(self, tensors):
        with pytest.raises(ProtocolError):
            Budget().admit(100, tensors)

    def test_of_what_is_held_at_once(self):
        budget = Budget()
        kept = [budget.hold(HELD_BYTES // 2), budget.hold(HELD_BYTES // 2 - 10_000)]
        with pytest.raises(OverBudget, match="at once"):
            budget.admit(100, [self.spec(10_000)])
        kept.pop()
        budget.admit(100, [self.spec(10_000)])

    def test_of_the_messages_of_one_check(self):
        budget = Budget()
        budget.admit(CHECK_MESSAGES, [])
        with pytest.raises(OverBudget, match="names, texts and lists"):
            budget.admit(1, [])
        budget.begin_check()
        budget.admit(1, [])

    def test_what_is_kept_in_a_check_ends_it_and_no_other(self, hand_in):
        student = hand_in(
            "import torch\ndef anything(): return torch.zeros(4_000_000, dtype=torch.uint8)",
            anything={},
        )
        context, kept = hand_in.last, []
        kept += [student.anything() for _ in range(6)]
        with pytest.raises(OverBudget, match="million"):
            student.anything()
        assert len(kept) == HELD_BYTES // (8 * 4_000_000)
        with pytest.raises(WorkerLost):
            student.anything()
        kept.clear()
        context.begin("another")
        assert student.anything().numel() == 4_000_000

    @pytest.mark.parametrize("count", [MODULE_NAMES + 1, 3])
    def test_names_are_counted_before_anything_is_built(self, hand_in, count):
        deep = ".".join("a" * (NAME_CHARACTERS // 2))
        source = layer(
            methods=f"def named_modules(self, *given, **more):\n"
            f"        for n in range({count}): yield f'{{n}}.{deep}'[:{NAME_CHARACTERS}], self"
        )
        student = hand_in(source, **EXPORTS)
        before = torch.nn.Module.__init__
        made: list[Callable[..., None]] = []

        def count_modules(module: torch.nn.Module) -> None:
            made.append(before)
            before(module)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch.nn.Module, "__init__", count_modules)
            if count > MODULE_NAMES:
                with pytest.raises(CheckFailure, match="more parts or names"):
                    student.Layer(width=3)
                assert made == []
            else:
                student.Layer(width=3)
                assert len(made) < MODULE_NAMES


@linux
def test_this_process_can_be_measured():
    assert peak() > MIB
