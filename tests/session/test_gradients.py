"""Autograd through the ``student`` proxy equals autograd through the same code here."""

import pytest
import torch
from torch.autograd.gradcheck import GradcheckError

from grader.session.errors import StudentError

ATTENTION = """
import torch

def attend(query, key, value):
    weights = (query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5).softmax(-1)
    return weights @ value, weights
"""
DECLARED = {"arguments": ["query", "key", "value"], "returns": ["output", "weights"]}


def attend(query, key, value):
    weights = (query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5).softmax(-1)
    return weights @ value, weights


def leaves(*shapes, dtype=torch.float32):
    return [torch.randn(shape, dtype=dtype, requires_grad=True) for shape in shapes]


@pytest.fixture
def student(hand_in):
    torch.manual_seed(1)
    return hand_in(ATTENTION, attend=DECLARED)


class TestAgainstALocalCopy:
    @pytest.mark.parametrize("which", [0, 1])
    def test_of_each_result(self, student, which):
        inputs = leaves((2, 3, 4), (2, 5, 4), (2, 5, 6))
        cotangent = torch.randn_like(attend(*inputs)[which])
        mine, theirs = (
            torch.autograd.grad(f(*inputs)[which], inputs, cotangent, allow_unused=True)
            for f in (student.attend, attend)
        )
        for got, wanted in zip(mine, theirs, strict=True):
            assert (got is None) == (wanted is None)
            assert wanted is None or torch.allclose(got, wanted, atol=1e-6)

    def test_of_both_results_together(self, student):
        inputs = leaves((3, 4), (5, 4), (5, 6))
        output, weights = student.attend(*inputs)
        ((output**2).sum() + (weights**3).sum()).backward()
        mine = [leaf.grad for leaf in inputs]
        output, weights = attend(*inputs)
        theirs = torch.autograd.grad((output**2).sum() + (weights**3).sum(), inputs)
        assert all(torch.allclose(a, b, atol=1e-5) for a, b in zip(mine, theirs, strict=True))

    def test_through_what_comes_before_and_after(self, student):
        (x,) = leaves((3, 4))
        mine, theirs = (
            torch.autograd.grad(f(x.exp(), x * 2, x.sin())[0].cos().sum(), x)[0]
            for f in (student.attend, attend)
        )
        assert torch.allclose(mine, theirs, atol=1e-5)

    def test_through_two_calls(self, student):
        (x,) = leaves((3, 4))
        mine, theirs = (
            torch.autograd.grad(f(*[f(x, x, x)[0]] * 3)[0].sum(), x)[0]
            for f in (student.attend, attend)
        )
        assert torch.allclose(mine, theirs, atol=1e-6)

    def test_only_where_asked(self, student):
        query, key, value = leaves((3, 4), (5, 4), (5, 6))
        output, _ = student.attend(query.detach(), key, value.detach())
        output.sum().backward()
        assert query.grad is None
        assert value.grad is None
        assert key.grad is not None

    def test_twice_from_one_call(self, student):
        inputs = leaves((3, 4), (5, 4), (5, 6))
        output, _ = student.attend(*inputs)
        first = torch.autograd.grad(output.sum(), inputs, retain_graph=True)
        second = torch.autograd.grad(output.sum(), inputs)
        assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))

    def test_of_non_contiguous_inputs(self, student):
        query, key, value = leaves((4, 3), (4, 5), (6, 5))
        mine, theirs = (
            torch.autograd.grad(f(query.t(), key.t(), value.t())[0].sum(), (query, key, value))
            for f in (student.attend, attend)
        )
        assert all(torch.allclose(a, b, atol=1e-6) for a, b in zip(mine, theirs, strict=True))

    @pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
    def test_in_other_dtypes(self, student, dtype):
        inputs = leaves((3, 4), (5, 4), (5, 6), dtype=dtype)
        output, _ = student.attend(*inputs)
        output.sum().backward()
        assert all(leaf.grad.dtype == dtype for leaf in inputs)

    def test_gradcheck(self, student):
        inputs = leaves((2, 3), (4, 3), (4, 2), dtype=torch.float64)
        assert torch.autograd.gradcheck(student.attend, inputs, fast_mode=True)

    def test_gradcheck_sees_a_wrong_backward(self, hand_in):
        student = hand_in(
            "import torch\n"
            "class Double(torch.autograd.Function):\n"
            "    @staticmethod\n    def forward(ctx, x): return x * 2\n"
            "    @staticmethod\n    def backward(ctx, g): return g * 3\n"
            "def f(x): return Double.apply(x)",
            f={"arguments": ["x"], "returns": ["y"]},
        )
        with pytest.raises(GradcheckError):
            torch.autograd.gradcheck(student.f, leaves((2,), dtype=torch.float64), fast_mode=True)


class TestWhereNothingFlows:
    @pytest.mark.parametrize(
        "body",
        [
            "return x.detach() * 2",
            "return torch.tensor(x.tolist())",
            "with torch.no_grad(): return x * 2",
            "return torch.from_numpy(x.detach().numpy())",
        ],
    )
    def test_the_result_says_so(self, hand_in, body):
        student = hand_in(f"import torch\ndef f(x):\n    {body}", f={"returns": ["y"]})
        (x,) = leaves((2,))
        assert not student.f(x).requires_grad

    def test_one_result_of_two(self, hand_in):
        student = hand_in("def f(x): return x * 2, x.detach()", f={"returns": ["a", "b"]})
        (x,) = leaves((2,))
        flowing, cut = student.f(x)
        assert (flowing.requires_grad, cut.requires_grad) == (True, False)
        (flowing + cut).sum().backward()
        assert x.grad.tolist() == [2, 2]

    def test_whole_numbers(self, hand_in):
        student = hand_in("def f(x): return x, x.argmax()", f={"returns": ["a", "b"]})
        (x,) = leaves((2,))
        assert [t.requires_grad for t in student.f(x)] == [True, False]

    def test_an_input_that_is_not_used(self, hand_in):
        student = hand_in("def f(x, y): return x * 2", f={"returns": ["a"]})
        x, y = leaves((2,), (2,))
        student.f(x, y).sum().backward()
        assert y.grad is None

    def test_without_grad_nothing_is_kept(self, student):
        with torch.no_grad():
            output, _ = student.attend(*leaves((3, 4), (5, 4), (5, 6)))
        assert not output.requires_grad


class TestOddResults:
    def test_the_input_itself(self, hand_in):
        student = hand_in("def f(x): return x, x", f={"returns": ["a", "b"]})
        (x,) = leaves((2,))
        first, second = student.f(x)
        (first + 3 * second).sum().backward()
        assert x.grad.tolist() == [4, 4]

    def test_results_that_share_memory(self, hand_in):
        student = hand_in(
            "def f(x):\n    y = x * 2\n    return y, y.t(), y[0]", f={"returns": ["a", "b", "c"]}
        )
        (x,) = leaves((2, 2))
        a, b, c = student.f(x)
        (a + b).sum().backward(retain_graph=True)
        c.sum().backward()
        assert x.grad.tolist() == [[6, 6], [4, 4]]

    def test_a_view_of_the_input(self, hand_in):
        student = hand_in("def f(x): return x.t()[1:]", f={"returns": ["a"]})
        (x,) = leaves((2, 3))
        student.f(x).sum().backward()
        assert x.grad.tolist() == [[0, 1, 1], [0, 1, 1]]

    def test_infinite_numbers(self, hand_in):
        student = hand_in("def f(x): return x / 0", f={"returns": ["a"]})
        (x,) = leaves((2,))
        student.f(x).sum().backward()
        assert torch.isinf(x.grad).all()

    def test_an_error_in_their_backward(self, hand_in):
        student = hand_in(
            "import torch\n"
            "class Broken(torch.autograd.Function):\n"
            "    @staticmethod\n    def forward(ctx, x): return x * 2\n"
            "    @staticmethod\n    def backward(ctx, g): raise ValueError('backwards')\n"
            "def f(x): return Broken.apply(x)",
            f={"returns": ["y"]},
        )
        with pytest.raises(ValueError, match="backwards") as caught:
            student.f(*leaves((2,))).sum().backward()
        assert isinstance(caught.value, StudentError)
        assert caught.value.frame.line == 6

    def test_an_input_that_is_overwritten(self, hand_in):
        student = hand_in("def f(x): return (x * 2).add_(1).exp_()", f={"returns": ["y"]})
        (x,) = leaves((2,))
        student.f(x).sum().backward()
        assert torch.allclose(x.grad, 2 * (2 * x + 1).exp())

    def test_writing_into_a_leaf_is_the_error_that_it_is(self, hand_in):
        student = hand_in("def f(x): return x.mul_(2)", f={"returns": ["y"]})
        with pytest.raises(RuntimeError, match="leaf Variable"):
            student.f(*leaves((2,)))
