"""Modules through the ``student`` proxy: mirrored parameters, remote computation."""

import copy

import pytest
import torch
from torch import nn

from grader.session.errors import CheckFailure, StudentError

LAYERS = """
import torch
from torch import nn

class Layer(nn.Module):
    def __init__(self, width, hidden=3, *, bias=True, dropout=0.0):
        super().__init__()
        self.width = width
        self.W_in = nn.Linear(width, hidden, bias=bias)
        self.W_out = nn.Linear(hidden, width, bias=bias)
        self.dropout = nn.Dropout(dropout)
        self.register_buffer("table", torch.arange(3.0))
        self.register_buffer("nothing", None)

    def forward(self, x, scale=None):
        if x.shape[-1] != self.width:
            raise ValueError("another width")
        hidden = torch.tanh(self.W_in(x))
        out = self.W_out(self.dropout(hidden))
        return out if scale is None else out * scale

class Stack(nn.Module):
    def __init__(self, width, depth, dropout=0.0):
        super().__init__()
        self.embedding = nn.Embedding(7, width)
        self.blocks = nn.ModuleList([Layer(width, dropout=dropout) for _ in range(depth)])
        self.head = nn.Linear(width, 7, bias=False)
        self.head.weight = self.embedding.weight
        self.unused = nn.Parameter(torch.ones(2))
        self.fixed = nn.Parameter(torch.ones(2), requires_grad=False)

    def forward(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = x + block(x)
        return self.head(x)
"""
FORWARD = {"arguments": ["x"], "options": ["scale"], "returns": ["output"]}
LAYER = {
    "options": ["width", "hidden", "bias", "dropout"],
    "forward": FORWARD,
    "parameters": ["W_in", "W_out"],
}
STACK = {
    "options": ["width", "depth", "dropout"],
    "forward": {"arguments": ["tokens"], "returns": ["logits"]},
}


def local(name="Layer", **sizes):
    """The same module in this process."""
    namespace = {}
    exec(LAYERS, namespace)
    return namespace[name](**sizes)


@pytest.fixture
def student(hand_in):
    torch.manual_seed(1)
    return hand_in(LAYERS, Layer=LAYER, Stack=STACK)


@pytest.fixture
def layer(student):
    return student.Layer(width=4)


@pytest.fixture
def twin(layer):
    """A local module with the parameters of ``layer``."""
    twin = local(width=4)
    twin.load_state_dict(layer.state_dict())
    return twin


class TestTheMirror:
    def test_names_shapes_and_values(self, layer):
        assert isinstance(layer, nn.Module)
        names = {name: tuple(p.shape) for name, p in layer.named_parameters()}
        assert names == {
            "W_in.weight": (3, 4),
            "W_in.bias": (3,),
            "W_out.weight": (4, 3),
            "W_out.bias": (4,),
        }
        assert layer.W_in.weight.requires_grad
        assert layer.table.tolist() == [0, 1, 2]
        assert set(dict(layer.named_buffers())) == {"table"}
        assert layer.training

    def test_starts_as_theirs_do(self, layer, twin):
        x = torch.randn(2, 4)
        assert torch.allclose(layer(x), twin(x), atol=1e-6)

    def test_of_nested_modules(self, student):
        stack = student.Stack(width=4, depth=2)
        assert len(stack.blocks) == 2
        assert stack.blocks[1].W_in.weight is stack.get_parameter("blocks.1.W_in.weight")
        assert stack.blocks[-1] is stack.blocks[1]
        assert list(stack.blocks) == [stack.blocks[0], stack.blocks[1]]
        with pytest.raises(IndexError):
            stack.blocks[2]

    def test_shared_parameters_are_shared(self, student):
        stack = student.Stack(width=4, depth=1)
        assert stack.head.weight is stack.embedding.weight
        count = sum(p.numel() for p in stack.parameters())
        twin = local("Stack", width=4, depth=1)
        assert count == sum(p.numel() for p in twin.parameters())

    def test_says_what_is_trained(self, student):
        stack = student.Stack(width=4, depth=1)
        assert (stack.unused.requires_grad, stack.fixed.requires_grad) == (True, False)

    def test_other_attributes_are_read_from_theirs(self, layer):
        assert layer.width == 4
        assert not hasattr(layer, "no_such_thing")

    def test_two_modules_are_two(self, student):
        torch.manual_seed(0)
        first, second = student.Layer(width=4), student.Layer(width=4)
        assert not torch.equal(first.W_in.weight, second.W_in.weight)
        with torch.no_grad():
            first.W_in.weight.zero_()
            first.W_in.bias.zero_()
        x = torch.randn(1, 4)
        assert torch.allclose(first(x), first.W_out.bias)
        assert not torch.allclose(second(x), second.W_out.bias)

    def test_without_parameters(self, hand_in):
        source = (
            "from torch import nn\nclass Twice(nn.Module):\n    def forward(s, x): return x * 2"
        )
        module = hand_in(source, Twice={"forward": FORWARD}).Twice()
        assert module(torch.ones(1)) == 2


class TestParts:
    @pytest.fixture
    def stack(self, student):
        return student.Stack(width=4, depth=2)

    @pytest.fixture
    def same(self, stack):
        same = local("Stack", width=4, depth=2)
        same.load_state_dict(stack.state_dict())
        return same

    def test_give_what_theirs_give(self, stack, same):
        x = torch.randn(2, 4)
        assert torch.allclose(stack.blocks[1](x), same.blocks[1](x), atol=1e-6)
        assert torch.allclose(stack.blocks[0].W_in(x), same.blocks[0].W_in(x), atol=1e-6)
        assert torch.allclose(stack.blocks[0](x, scale=2.0), same.blocks[0](x, 2.0), atol=1e-6)

    def test_gradients_of_inputs_and_parameters(self, stack, same):
        mine = torch.randn(2, 4, requires_grad=True)
        theirs = mine.detach().clone().requires_grad_()
        stack.blocks[1](mine).square().sum().backward()
        same.blocks[1](theirs).square().sum().backward()
        assert torch.allclose(mine.grad, theirs.grad, atol=1e-5)
        for (name, p), q in zip(stack.named_parameters(), same.parameters(), strict=True):
            assert (p.grad is None) == (q.grad is None), name
            assert q.grad is None or torch.allclose(p.grad, q.grad, atol=1e-5), name

    def test_use_what_was_set_here(self, stack):
        with torch.no_grad():
            for parameter in stack.blocks[0].parameters():
                parameter.zero_()
        assert torch.equal(stack.blocks[0](torch.ones(1, 4)), torch.zeros(1, 4))

    def test_their_errors_are_the_students(self, stack):
        with pytest.raises(ValueError, match="another width") as caught:
            stack.blocks[0](torch.ones(1, 5))
        assert isinstance(caught.value, StudentError)
        assert caught.value.frame.text == 'raise ValueError("another width")'

    def test_train_and_evaluate_as_the_whole_does(self, student):
        stack = student.Stack(width=4, depth=1, dropout=1.0)
        x, bias = torch.randn(3, 4), stack.blocks[0].W_out.bias
        assert torch.allclose(stack.blocks[0](x), bias.expand(3, 4))
        stack.eval()
        assert not torch.allclose(stack.blocks[0](x), bias.expand(3, 4))
        stack.blocks[0].train()
        with pytest.raises(RuntimeError, match="trains or evaluates as the whole"):
            stack.blocks[0](x)


class TestSettingParameters:
    def test_load_state_dict(self, layer):
        other = local(width=4)
        layer.load_state_dict(other.state_dict())
        x = torch.randn(2, 4)
        assert torch.allclose(layer(x), other(x), atol=1e-6)

    def test_in_place(self, layer):
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.zero_()
            layer.W_out.bias.copy_(torch.tensor([1.0, 2.0, 3.0, 4.0]))
        assert layer(torch.randn(1, 4)).tolist() == [[1, 2, 3, 4]]

    def test_through_data_and_init(self, layer):
        layer.W_out.weight.data.zero_()
        nn.init.constant_(layer.W_out.bias, 2.5)
        assert layer(torch.randn(1, 4)).tolist() == [[2.5] * 4]

    def test_shared_ones_once(self, student):
        stack = student.Stack(width=4, depth=1)
        with torch.no_grad():
            stack.head.weight.zero_()
        assert torch.equal(stack(torch.tensor([[1, 2]])), torch.zeros(1, 2, 7))

    def test_a_parameter_that_holds_nan(self, layer):
        with torch.no_grad():
            layer.W_in.bias[0] = float("nan")
        assert layer(torch.ones(1, 4)).isnan().all()
        with torch.no_grad():
            layer.W_in.bias[0] = 0.0
        assert not layer(torch.ones(1, 4)).isnan().any()


class TestTraining:
    def test_gradients_of_inputs_and_parameters(self, layer, twin):
        mine, theirs = torch.randn(2, 4, requires_grad=True), None
        theirs = mine.detach().clone().requires_grad_()
        (layer(mine) ** 2).sum().backward()
        (twin(theirs) ** 2).sum().backward()
        assert torch.allclose(mine.grad, theirs.grad, atol=1e-5)
        for (name, got), (_, wanted) in zip(
            layer.named_parameters(), twin.named_parameters(), strict=True
        ):
            assert torch.allclose(got.grad, wanted.grad, atol=1e-5), name

    @pytest.mark.parametrize("optimiser", [torch.optim.SGD, torch.optim.Adam])
    def test_steps_of_an_optimiser(self, layer, twin, optimiser):
        x, target = torch.randn(6, 4), torch.randn(6, 4)
        for module in (layer, twin):
            steps = optimiser(module.parameters(), lr=0.05)
            for _ in range(3):
                steps.zero_grad()
                ((module(x) - target) ** 2).mean().backward()
                steps.step()
        assert torch.allclose(layer(x), twin(x), atol=1e-4)
        assert torch.allclose(layer.W_in.weight, twin.W_in.weight, atol=1e-4)

    def test_zero_grad(self, layer):
        layer(torch.ones(1, 4)).sum().backward()
        assert layer.W_in.weight.grad is not None
        layer.zero_grad()
        assert layer.W_in.weight.grad is None

    def test_what_takes_no_part_gets_no_gradient(self, student):
        stack = student.Stack(width=4, depth=1)
        stack(torch.tensor([[1, 2, 3]])).sum().backward()
        without = {name for name, p in stack.named_parameters() if p.grad is None}
        assert without == {"unused", "fixed"}

    def test_gradcheck(self, layer):
        layer.double()
        x = torch.randn(2, 4, dtype=torch.float64, requires_grad=True)
        assert torch.autograd.gradcheck(layer, (x,), fast_mode=True)

    def test_frozen_here(self, layer):
        layer.requires_grad_(False)
        assert not layer(torch.ones(1, 4)).requires_grad


class TestModes:
    def test_train_and_eval(self, student):
        module = student.Layer(width=4, hidden=50, dropout=0.5)
        x = torch.ones(1, 4)
        assert not torch.equal(module(x), module(x))
        module.eval()
        assert torch.equal(module(x), module(x))
        module.train()
        assert not torch.equal(module(x), module(x))

    def test_one_module_does_not_change_another(self, student):
        first = student.Layer(width=4, hidden=50, dropout=0.5).eval()
        second = student.Layer(width=4, hidden=50, dropout=0.5)
        x = torch.ones(1, 4)
        assert torch.equal(first(x), first(x))
        assert not torch.equal(second(x), second(x))

    @pytest.mark.parametrize(
        "convert",
        [
            lambda m: m.to(torch.float64),
            lambda m: m.to(dtype=torch.float64),
            lambda m: m.to(torch.ones(1, dtype=torch.float64)),
            lambda m: m.double(),
        ],
    )
    def test_to_a_dtype(self, layer, twin, convert):
        assert convert(layer) is layer
        assert {p.dtype for p in layer.parameters()} == {torch.float64}
        x = torch.randn(2, 4, dtype=torch.float64)
        assert torch.allclose(layer(x), twin.double()(x))

    def test_to_bfloat16_and_back(self, layer):
        layer.bfloat16()
        assert layer(torch.ones(1, 4, dtype=torch.bfloat16)).dtype == torch.bfloat16
        assert layer.float()(torch.ones(1, 4)).dtype == torch.float32

    def test_keeps_what_was_set_just_before(self, layer):
        with torch.no_grad():
            for parameter in layer.parameters():
                parameter.zero_()
            layer.W_out.bias.fill_(0.1)
        layer.double()
        assert torch.allclose(layer.W_out.bias, torch.full((4,), 0.1, dtype=torch.float64), 1e-7)
        assert torch.allclose(
            layer(torch.ones(1, 4, dtype=torch.float64)),
            torch.tensor(0.1, dtype=torch.float64),
            1e-7,
        )

    def test_to_meta(self, layer):
        layer.to("meta")
        assert layer(torch.ones(2, 4, device="meta")).shape == (2, 4)

    def test_to_where_nothing_is(self, layer):
        if torch.cuda.is_available():
            pytest.skip("there is something")
        with pytest.raises(StudentError):
            layer.to("cuda")


WEIGHTS = {
    "W_in.weight": torch.arange(12.0).reshape(3, 4) / 10,
    "W_in.bias": torch.zeros(3),
    "W_out.weight": torch.eye(4)[:, :3].contiguous(),
    "W_out.bias": torch.zeros(4),
}


def expected(x):
    return nn.functional.linear(
        nn.functional.linear(x, WEIGHTS["W_in.weight"]).tanh(), WEIGHTS["W_out.weight"]
    )


FUSED = """
import torch
from torch import nn

class Layer(nn.Module):
    def __init__(self, width, hidden=3, bias=True, dropout=0.0):
        super().__init__()
        self.both = nn.Parameter(torch.randn(2, hidden, width))

    def forward(self, x, scale=None):
        return torch.tanh(x @ self.both[0].t()) @ self.both[1]

    def load_weights(self, weights):
        {body}
"""
RIGHT = """with torch.no_grad():
            self.both[0].copy_(weights["W_in.weight"])
            self.both[1].copy_(weights["W_out.weight"].t())"""
REPLACED = """self.both = nn.Parameter(
            torch.stack([weights["W_in.weight"], weights["W_out.weight"].t()]))"""


class TestLoadWeights:
    def test_by_name(self, layer):
        layer.load_weights(WEIGHTS)
        x = torch.randn(2, 4)
        assert torch.allclose(layer(x), expected(x), atol=1e-6)
        assert torch.equal(layer.W_in.weight, WEIGHTS["W_in.weight"])

    def test_missing_biases_are_fine(self, student):
        layer = student.Layer(width=4, bias=False)
        layer.load_weights(WEIGHTS)
        x = torch.randn(2, 4)
        assert torch.allclose(layer(x), expected(x), atol=1e-6)

    @pytest.mark.parametrize("body", [RIGHT, REPLACED], ids=["in place", "replaced"])
    def test_by_their_own(self, hand_in, body):
        layer = hand_in(FUSED.replace("{body}", body), Layer=LAYER).Layer(width=4)
        layer.load_weights(WEIGHTS)
        x = torch.randn(2, 4)
        assert torch.allclose(layer(x), expected(x), atol=1e-6)
        assert torch.equal(layer.both[0], WEIGHTS["W_in.weight"])
        layer(x).sum().backward()
        assert layer.both.grad.abs().sum() > 0

    def test_their_own_may_change_which_parameters_there_are(self, hand_in):
        body = "self.extra, self.both = nn.Parameter(weights['W_in.bias']), None"
        layer = hand_in(FUSED.replace("{body}", body), Layer=LAYER).Layer(width=4)
        layer.load_weights(WEIGHTS)
        assert [name for name, _ in layer.named_parameters()] == ["extra"]

    def test_their_own_that_raises(self, hand_in):
        body = "self.both.copy_(weights['W_q.weight'])"
        layer = hand_in(FUSED.replace("{body}", body), Layer=LAYER).Layer(width=4)
        with pytest.raises(KeyError, match=r"W_q.weight") as caught:
            layer.load_weights(WEIGHTS)
        assert caught.value.frame.line == 14

    @pytest.mark.parametrize(
        ("weights", "words"),
        [
            ({"W_q.weight": torch.zeros(3, 4)}, "no parameter W_q.weight; the module has W_in"),
            ({"W_in.weight": torch.zeros(4, 3)}, r"has shape \(3, 4\), expected \(4, 3\)"),
        ],
    )
    def test_that_cannot_be_set_by_name(self, layer, weights, words):
        with pytest.raises(StudentError, match=words) as caught:
            layer.load_weights(weights)
        assert caught.value.raised.kind == "weights"

    def test_in_the_modules_dtype(self, layer):
        layer.double().load_weights({name: w.double() for name, w in WEIGHTS.items()})
        x = torch.randn(2, 4, dtype=torch.float64)
        assert torch.allclose(layer(x).float(), expected(x.float()), atol=1e-6)


class TestErrors:
    def test_in_the_constructor(self, hand_in):
        student = hand_in(
            "from torch import nn\nclass Layer(nn.Module):\n    def __init__(self, width):\n"
            "        super().__init__()\n        assert width % 3 == 0, 'no'",
            Layer={"options": ["width"], "forward": FORWARD},
        )
        with pytest.raises(AssertionError, match="no"):
            student.Layer(width=4)
        assert isinstance(student.Layer(width=6), nn.Module)

    def test_in_forward(self, layer):
        with pytest.raises(ValueError, match="another width") as caught:
            layer(torch.ones(1, 5))
        assert caught.value.frame.line == 17
        assert layer(torch.ones(1, 4)).shape == (1, 4)

    def test_a_constructor_that_does_not_take_what_is_declared(self, hand_in):
        student = hand_in(
            "from torch import nn\nclass Layer(nn.Module):\n    def __init__(self, a): pass",
            Layer=LAYER,
        )
        with pytest.raises(StudentError, match="has to accept") as caught:
            student.Layer(width=4, hidden=3, dropout=0.1)
        assert caught.value.raised.kind == "signature"

    def test_a_forward_that_does_not(self, hand_in):
        student = hand_in(
            "from torch import nn\nclass Layer(nn.Module):\n    def forward(self, x, y, z): pass",
            Layer={"forward": FORWARD},
        )
        with pytest.raises(StudentError, match=r"has to accept \(x, scale=...\)"):
            student.Layer()(torch.ones(1))

    def test_a_class_that_is_no_module(self, hand_in):
        student = hand_in("class Layer:\n    def __init__(self, width): pass", Layer=LAYER)
        with pytest.raises(CheckFailure, match="not a class derived from"):
            student.Layer(width=4)

    def test_super_init_that_is_forgotten(self, hand_in):
        student = hand_in(
            "from torch import nn\nclass Layer(nn.Module):\n    def __init__(self):\n"
            "        self.W = nn.Linear(1, 1)",
            Layer={"forward": FORWARD},
        )
        with pytest.raises(AttributeError, match="cannot assign module") as caught:
            student.Layer()
        assert caught.value.frame.line == 4

    def test_what_forward_returns(self, hand_in):
        student = hand_in(
            "from torch import nn\nclass Layer(nn.Module):\n    def forward(self, x): return x, x",
            Layer={"forward": {"arguments": ["x"], "returns": ["output"]}},
        )
        with pytest.raises(CheckFailure, match="Layer has to return one tensor, output; yours"):
            student.Layer()(torch.ones(1))


def test_state_dicts_are_those_of_any_module(layer):
    saved = copy.deepcopy(layer.state_dict())
    with torch.no_grad():
        layer.W_in.weight.add_(1)
    layer.load_state_dict(saved)
    assert torch.equal(layer.W_in.weight, saved["W_in.weight"])
    with pytest.raises(RuntimeError, match="size mismatch"):
        layer.load_state_dict({**saved, "W_in.bias": torch.zeros(9)})
