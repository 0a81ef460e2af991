"""Functions through the ``student`` proxy: used as if they had been imported."""

import pytest
import torch

from grader.session.checks.assertions import assert_not_forbidden
from grader.session.errors import CheckFailure, MissingExport, StudentError
from grader.wire.commands import Done

ATTENTION = "torch.nn.functional.scaled_dot_product_attention"
LAYER = "torch.nn.MultiheadAttention"


class TestArguments:
    def test_by_position_and_by_name(self, hand_in):
        student = hand_in(
            "def f(x, y, *, mask=None, p=0.0): return x - y, mask, p",
            f={"arguments": ["x", "y"], "options": ["mask", "p"]},
        )
        mask = torch.tensor([True, False])
        x, y = torch.ones(2), torch.tensor([3.0, 4.0])
        difference, same, p = student.f(x, y, p=0.5, mask=mask)
        assert torch.equal(difference, x - y)
        assert torch.equal(same, mask)
        assert p == 0.5

    def test_other_names(self, hand_in):
        student = hand_in(
            "def f(a, m=None): return a if m is None else m",
            f={"arguments": ["x"], "options": ["mask"]},
        )
        assert student.f(torch.zeros(1), mask=torch.ones(1)) == 1

    @pytest.mark.parametrize(
        "value",
        [
            None,
            True,
            3,
            -1.5,
            "text",
            float("inf"),
            (1, (2, [3])),
            [],
            {"a": [1], "b": None},
            torch.bfloat16,
        ],
        ids=str,
    )
    def test_plain_values_there_and_back(self, hand_in, value):
        student = hand_in("def f(x): return x", f={})
        returned = student.f(value)
        assert returned == value
        assert type(returned) is type(value)

    def test_a_tensor_passed_twice_is_one_object(self, hand_in):
        student = hand_in("def f(x, y, pair): return x is y, x is pair[0], x is pair[1]", f={})
        x, y = torch.ones(2), torch.ones(2)
        assert student.f(x, x, (x, y)) == (True, True, False)
        assert student.f(x, y, (y, x)) == (False, False, True)

    def test_layout_dtype_and_requires_grad_arrive(self, hand_in):
        student = hand_in(
            "def f(x): return list(x.stride()), x.dtype, x.requires_grad, x.is_leaf, x.device.type",
            f={},
        )
        x = torch.zeros(2, 3, 4, dtype=torch.float64).permute(2, 0, 1)
        assert student.f(x) == (list(x.stride()), torch.float64, False, True, "cpu")
        trained = torch.zeros(2, requires_grad=True)
        assert student.f(trained)[2:4] == (True, True)
        assert student.f(torch.empty(2, device="meta"))[4] == "meta"

    def test_what_cannot_be_passed(self, hand_in):
        student = hand_in("def f(x): return x", f={})
        with pytest.raises(TypeError, match="set cannot be passed"):
            student.f({1, 2})

    def test_grad_mode_is_the_callers(self, hand_in):
        student = hand_in("import torch\ndef f(x): return torch.is_grad_enabled()", f={})
        assert student.f(0) is True
        with torch.no_grad():
            assert student.f(0) is False


class TestInputsThatAreWrittenTo:
    def test_the_caller_sees_it(self, hand_in):
        student = hand_in("def f(x, y):\n    x.add_(1)\n    y.data[0] = 7\n    return x", f={})
        x, y = torch.zeros(3), torch.zeros(2, requires_grad=True)
        returned = student.f(x, y)
        assert x.tolist() == [1, 1, 1]
        assert y.tolist() == [7, 0]
        assert returned is not x
        assert torch.equal(returned, x)

    def test_through_a_view(self, hand_in):
        student = hand_in("def f(x):\n    x.t()[0] = 5", f={})
        whole = torch.zeros(3, 2)
        student.f(whole[1:])
        assert whole.tolist() == [[0, 0], [5, 0], [5, 0]]

    def test_reading_is_no_writing(self, hand_in):
        student = hand_in("def f(x): return x * 2, x.requires_grad_()", f={})
        x = torch.tensor([float("nan"), 1.0])
        version = x._version
        student.f(x)
        assert x._version == version

    def test_a_shape_that_was_changed(self, hand_in):
        student = hand_in("def f(x):\n    x.t_()", f={})
        x = torch.arange(6).reshape(2, 3)
        student.f(x)
        assert torch.equal(x, torch.arange(6).reshape(2, 3).t())

    def test_on_meta_nothing_can_be_seen(self, hand_in):
        student = hand_in("def f(x): return x.add_(1)", f={})
        assert student.f(torch.empty(2, device="meta")).is_meta


class TestWhatIsMissing:
    SOURCE = "def scaled_attention(x): return x\nnumber = 3\nclass Other: pass"

    def test_a_near_name_is_suggested(self, hand_in):
        student = hand_in(self.SOURCE, scaled_atention={})
        with pytest.raises(MissingExport, match="It defines scaled_attention: is the name mis"):
            student.scaled_atention(1)

    def test_without_a_near_one_none_is(self, hand_in):
        student = hand_in(self.SOURCE, merge_heads={})
        with pytest.raises(MissingExport, match=r"does not define merge_heads\.$"):
            student.merge_heads(1)

    def test_what_is_there_can_be_used(self, hand_in):
        student = hand_in(self.SOURCE, merge_heads={}, scaled_attention={})
        assert student.scaled_attention(1) == 1

    def test_what_cannot_be_called(self, hand_in):
        student = hand_in(self.SOURCE, number={})
        with pytest.raises(MissingExport, match="neither a function nor a class"):
            student.number(1)

    def test_what_was_never_declared_is_the_suites_mistake(self, hand_in):
        student = hand_in(self.SOURCE, scaled_attention={})
        with pytest.raises(AttributeError, match="did you mean scaled_attention"):
            student.scaled_attentoin(1)


class TestErrors:
    SOURCE = """
import torch

class Mine(ValueError):
    pass

def value(x):
    raise ValueError("what " + "it says")

def mine(x):
    raise Mine("three")

def stub(x):
    raise NotImplementedError

def half(x):
    raise NotImplementedError("masks come later")

def torchs(x):
    return torch.empty(2, dtype=torch.complex64) < 1

def shapes(x):
    return x @ torch.ones(9, 9)

def key(x):
    return {}["missing"]

def leave(x):
    raise SystemExit(0)

def attribute(x):
    return x.nothing
"""
    NAMES = ("value", "mine", "stub", "half", "torchs", "shapes", "key", "leave", "attribute")

    @pytest.fixture
    def student(self, hand_in):
        return hand_in(self.SOURCE, **{name: {} for name in self.NAMES})

    @pytest.mark.parametrize(
        ("name", "error", "line"),
        [
            ("value", ValueError, 8),
            ("mine", ValueError, 11),
            ("stub", NotImplementedError, 14),
            ("torchs", RuntimeError, 20),
            ("shapes", RuntimeError, 23),
            ("key", KeyError, 26),
            ("attribute", AttributeError, 32),
            ("leave", StudentError, 29),
        ],
    )
    def test_arrive_as_what_they_were(self, student, name, error, line):
        with pytest.raises(error) as caught:
            getattr(student, name)(torch.ones(2))
        assert isinstance(caught.value, StudentError)
        assert caught.value.frame.line == line
        assert f"at line {line} of work.py" in str(caught.value)

    def test_can_be_matched_by_their_words(self, student):
        with pytest.raises(ValueError, match="what it says"):
            student.value(1)

    def test_are_no_other_errors(self, student):
        with pytest.raises(StudentError) as caught:
            student.value(1)
        assert not isinstance(caught.value, RuntimeError | TypeError)

    def test_only_an_untouched_line_is_a_stub(self, student):
        stubs = {}
        for name in ("stub", "half", "torchs", "value"):
            with pytest.raises(StudentError) as caught:
                getattr(student, name)(1)
            stubs[name] = caught.value.is_stub
        assert stubs == {"stub": True, "half": True, "torchs": False, "value": False}

    def test_the_line_is_the_innermost_of_their_own(self, hand_in):
        student = hand_in(
            "from helpers import g\ndef f(x):\n    return g(x)\n",
            helpers={"helpers.py": "import torch\ndef g(x):\n    return torch.cat(x)\n"},
            f={},
        )
        with pytest.raises(TypeError) as caught:
            student.f(torch.ones(2))
        assert (caught.value.frame.file, caught.value.frame.line) == ("helpers.py", 3)

    def test_a_signature_that_does_not_fit(self, hand_in):
        student = hand_in(
            "def f(query): return query", f={"arguments": ["query", "key"], "options": ["mask"]}
        )
        with pytest.raises(StudentError, match=r"f\(query\) but has to accept") as caught:
            student.f(1, 2, mask=None)
        assert caught.value.raised.kind == "signature"

    def test_a_type_error_inside_is_no_signature(self, hand_in):
        student = hand_in("def f(x): return x + 'a'", f={"arguments": ["x"]})
        with pytest.raises(TypeError) as caught:
            student.f(1)
        assert caught.value.raised.kind == "raised"


PAIR = {"arguments": ["x"], "returns": ["output", "weights"]}
ONE = {"arguments": ["x"], "returns": ["output"]}


class TestReturns:
    @pytest.mark.parametrize(
        "body",
        [
            "return x, x + 1",
            "return [x, x + 1]",
            "return collections.namedtuple('Pair', 'output weights')(x, x + 1)",
        ],
    )
    def test_a_pair_is_a_pair(self, hand_in, body):
        student = hand_in(f"import collections\ndef f(x): {body}", f=PAIR)
        output, weights = student.f(torch.zeros(2))
        assert (output.tolist(), weights.tolist()) == ([0, 0], [1, 1])

    @pytest.mark.parametrize(
        ("body", "words"),
        [
            ("pass", "yours returned None"),
            ("return x", "yours returned a single tensor"),
            ("return x, x, x", "yours returned 3 values"),
            ("return (x,)", "yours returned 1 value"),
            ("return [x] * 50", "yours returned many values"),
            ("return [x] * 5000", "yours returned a list"),
            ("return {'output': x}", "yours returned a dict"),
            ("return 3.5", "yours returned a float"),
            ("return x, None", "your weights is None"),
            ("return x, x.tolist()", "your weights is 2 values"),
            ("return x.numpy(), x", "your output is a NumPy array"),
            ("return object(), x", "your output is an object of another type"),
            ("return (y for y in (x, x))", "yours returned a generator"),
            ("return x, x.to_sparse()", "a sparse tensor"),
            ("return x, x * 1j", "complex numbers"),
            ("return x, x.to('meta')", "without data"),
            ("return x, x.expand(10**12, 2)", "larger than this grader accepts"),
            ("return x, x.to(torch.float8_e4m3fn)", "unusual dtype"),
        ],
    )
    def test_anything_else_is_said(self, hand_in, body, words):
        student = hand_in(f"import torch\ndef f(x):\n    {body}", f=PAIR)
        with pytest.raises(CheckFailure, match=words):
            student.f(torch.zeros(2))

    @pytest.mark.parametrize("body", ["return x, x", "return [x]", "return None"])
    def test_one_tensor_is_one_tensor(self, hand_in, body):
        student = hand_in(f"def f(x): {body}", f=ONE)
        with pytest.raises(CheckFailure, match=r"has to return one tensor, output; yours returned"):
            student.f(torch.zeros(2))

    def test_complex_and_meta_are_fine_where_they_went_in(self, hand_in):
        student = hand_in("def f(x): return x * 2", f=ONE)
        assert student.f(torch.ones(1, dtype=torch.complex64)) == 2
        assert student.f(torch.ones(1, device="meta")).is_meta

    def test_lazy_bits_are_resolved(self, hand_in):
        student = hand_in("def f(x): return x.conj(), x.conj().imag", f=PAIR)
        x = torch.tensor([1 + 2j])
        output, weights = student.f(x)
        assert torch.equal(output, x.conj().resolve_conj())
        assert weights.tolist() == [-2]

    def test_every_number_arrives_as_it_is(self, hand_in):
        student = hand_in("def f(x): return x.clone()", f=ONE)
        x = torch.tensor([float("nan"), float("inf"), -0.0, 1e-45])
        returned = student.f(x)
        assert torch.equal(returned.view(torch.int32), x.view(torch.int32))


class TestOutput:
    def test_is_kept_for_each_check(self, hand_in):
        student = hand_in("print('hello')\ndef f(x): print('x is', x)", f={})
        student.f(1)
        assert hand_in.last.process.import_output == ("hello\n", False)
        assert hand_in.last.take_output() == ("x is 1\n", False)
        assert hand_in.last.take_output() == ("", False)

    def test_is_limited(self, hand_in):
        student = hand_in("def f(x): print('x' * 100)", f={}, limits={"output_bytes": 10})
        student.f(1)
        assert hand_in.last.take_output() == ("x" * 10, True)


class TestForbiddenUses:
    def test_in_every_file_of_the_submission(self, hand_in):
        call = "import torch.nn.functional as F\ndef g(x): return F.softmax(x)\n"
        hand_in(
            "import helpers\n" + call,
            helpers={"helpers.py": call, "unused.py": "x = 1\n"},
            forbidden=["torch.nn.functional.softmax"],
            f={},
        )
        places = [use.place for use in hand_in.last.forbidden_uses]
        assert places == ["line 3", "line 2 of helpers.py"]

    def test_without_running_it(self, hand_in):
        source = "import torch, os\nos._exit(torch.softmax is None)\n"
        hand_in(source, forbidden=["torch.softmax"], f={}, begin=False)
        assert [use.line for use in hand_in.last.forbidden_uses] == [2]

    @pytest.mark.parametrize(
        ("helper", "problem"),
        [
            ("a" + ".b" * 50_000, "it is nested too deeply"),
            ("-" * 100_000 + "1", "it is nested too deeply"),
        ],
    )
    def test_what_cannot_be_searched_is_among_them(self, hand_in, helper, problem):
        hand_in("def f(x): return x", helpers={"helper.py": helper}, forbidden=[ATTENTION], f={})
        (use,) = hand_in.last.forbidden_uses
        assert (use.file, use.problem) == ("helper.py", problem)
        with pytest.raises(CheckFailure, match=rf"helper\.py could not be analysed: {problem}\."):
            assert_not_forbidden([use])

    def test_what_takes_too_long_to_search_is_among_them(self, hand_in):
        helper = "\n".join(f"a{n} = a{n + 1}" for n in range(20_000))
        hand_in(
            "def f(x): return x",
            helpers={"helper.py": helper},
            forbidden=[ATTENTION],
            limits={"import_seconds": 0.1},
            begin=False,
            f={},
        )
        (use,) = hand_in.last.forbidden_uses
        assert (use.file, use.problem) == ("helper.py", "that did not end in time")

    @pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16-le", "utf-7"])
    def test_in_whatever_encoding_python_reads(self, hand_in, encoding):
        call = "import torch.nn.functional as F\ndef g(x): return F.softmax(x)"
        hidden = call if encoding != "utf-7" else call.replace("\n", "+AAo-")
        hand_in(
            f"# coding: {encoding}\n{hidden}\n",
            forbidden=["torch.nn.functional.softmax"],
            begin=False,
            f={},
        )
        assert [use.name for use in hand_in.last.forbidden_uses] == ["torch.nn.functional.softmax"]

    def test_what_ran_is_told_in_words_of_ours(self, hand_in):
        hand_in("def f(x): return x", forbidden=[ATTENTION, LAYER], f={})
        process = hand_in.last.process
        process._noted.note(Done(tripped={ATTENTION: "<b>whatever</b>", "torch.other": LAYER}))
        process._noted.note(Done(tripped={LAYER: "torch.nn.TransformerEncoder"}))
        first, second = hand_in.last.forbidden_uses
        assert (first.name, first.by) == (ATTENTION, "")
        assert (second.name, second.by) == (LAYER, "torch.nn.TransformerEncoder")

    def test_of_source_that_cannot_be_read(self, hand_in):
        hand_in("def f(:", forbidden=["torch.softmax"], f={}, begin=False)
        assert hand_in.last.forbidden_uses == []
