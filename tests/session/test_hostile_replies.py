"""A worker may answer anything that decodes; the proxy turns it into a result or a typed error."""

import contextlib

import msgspec
import pytest
import torch
from hypothesis import example, given, settings
from hypothesis import strategies as st

from grader.course.model import Export
from grader.session.errors import CheckFailure, StudentError
from grader.session.student.proxy import Student
from grader.wire.budget import Budget
from grader.wire.errors import ProtocolError, WorkerLost
from grader.wire.messages import (
    DType,
    Entries,
    Frame,
    Gradients,
    Handle,
    Inspected,
    Items,
    Module,
    Parameter,
    Plain,
    Raised,
    Returned,
    TensorRef,
    TensorSpec,
    Unusable,
)

EXPORTS = msgspec.convert(
    {
        "pair": {"returns": ["output", "weights"]},
        "anything": {},
        "Layer": {"forward": {"returns": ["output"]}},
    },
    dict[str, Export],
)
NO_HANDLE = Returned(
    value=Plain(value=1), call=1, module=Module(parameters=[], buffers=[], submodules=[])
)
ALLOWED = (CheckFailure, StudentError, WorkerLost)


class Says:
    """A transport that gives the same replies whatever it is asked."""

    def __init__(self, *replies):
        self.replies = list(replies)
        self.input_writes = 0
        self.inputs_closed = False
        self.budget = Budget()

    def ask(self, request, blob, expected):
        reply, data = self.replies[0] if len(self.replies) == 1 else self.replies.pop(0)
        return reply, data

    def begin_check(self, seed):
        pass

    def require(self, export):
        pass


def student(*replies):
    return Student(Says(*replies), EXPORTS)


def numbers(*shape):
    size = 4 * torch.Size(shape).numel()
    return TensorSpec("float32", list(shape), size, requires_grad=True), bytes(size)


ERRORS = ["Exception", "ValueError", "UnicodeDecodeError", "os", "Warning", "int"]

index = st.integers(-3, 5)
names = st.sampled_from(["W", "W.weight", "a.b.c", "", ".", "..", "forward", "_sent", "W.W"])
values = st.recursive(
    st.builds(Plain, value=st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3))
    | st.builds(TensorRef, index=index)
    | st.builds(DType, name=st.sampled_from(["float32", "nn", "load", "__name__", ""])),
    lambda inner: (
        st.builds(Items, kind=st.sampled_from(["tuple", "list", "set"]), items=st.lists(inner))
        | st.builds(Entries, items=st.dictionaries(st.text(max_size=3), inner))
        | st.builds(
            Handle,
            id=st.integers(-1, 9),
            type=st.text(max_size=5),
            items=st.none() | st.lists(inner),
        )
    ),
    max_leaves=6,
)
parameters = st.builds(
    Parameter,
    name=names,
    shape=st.lists(st.integers(-1, 3), max_size=3),
    dtype=st.sampled_from(["float32", "bool", "complex64", "nn", ""]),
    device=st.sampled_from(["cpu", "meta", "cuda"]),
    same_as=st.none() | names,
    trained=st.booleans(),
)
modules = st.builds(
    Module,
    parameters=st.lists(parameters, max_size=4),
    buffers=st.lists(parameters, max_size=2),
    submodules=st.lists(names, max_size=3),
)
shapes = st.lists(st.integers(0, 3), max_size=3)


@st.composite
def framed(draw, make):
    """A reply made with well-formed tensors, and its blob."""
    specs, blob = [], b""
    for shape in draw(st.lists(shapes, max_size=4)):
        dtype, size = draw(st.sampled_from([("float32", 4), ("bool", 1), ("complex64", 8)]))
        meta = draw(st.booleans())
        count = 0 if meta else size * torch.Size(shape).numel()
        device = "meta" if meta else "cpu"
        specs.append(TensorSpec(dtype, shape, count, [], device, draw(st.booleans())))
        blob += bytes(count)
    return make(draw, specs), blob


def returned(draw, specs):
    changed = draw(st.dictionaries(index, index, max_size=2))
    module = draw(st.none() | modules)
    return Returned(value=draw(values), call=1, module=module, changed=changed, tensors=specs)


def gradients(draw, specs):
    by_name = draw(st.dictionaries(names, index, max_size=2))
    by_index = draw(st.dictionaries(index, index, max_size=3))
    return Gradients(inputs=by_index, parameters=by_name, tensors=specs)


class TestAnyReply:
    @given(reply=framed(returned), name=st.sampled_from(sorted(EXPORTS)), trained=st.booleans())
    @settings(max_examples=200)
    @example(reply=(NO_HANDLE, b""), name="Layer", trained=True)
    def test_to_a_call(self, reply, name, trained):
        x = torch.ones(2, 2, requires_grad=trained)
        with contextlib.suppress(ALLOWED):
            getattr(student(reply), name)(x, x.detach())

    @given(reply=framed(gradients))
    @settings(max_examples=150)
    def test_to_a_backward_pass(self, reply):
        spec, blob = numbers(2)
        answer = Returned(value=TensorRef(index=0), call=1, tensors=[spec])
        x = torch.ones(2, 2, requires_grad=True)
        result = student((answer, blob), reply).anything(x)
        try:
            result.sum().backward()
        except ALLOWED:
            return
        assert x.grad is None or x.grad.shape == x.shape

    @given(reply=st.builds(Inspected, module=modules), numbers=framed(returned))
    @settings(max_examples=150)
    def test_to_load_weights_and_reading(self, reply, numbers):
        start = Module(
            parameters=[Parameter(name="W.weight", shape=[2], dtype="float32")],
            buffers=[],
            submodules=["W"],
        )
        made = Returned(value=Handle(id=1, type="Layer"), call=1, module=start)
        layer = student((made, b""), (reply, b""), numbers).Layer()
        with contextlib.suppress(ALLOWED):
            layer.load_weights({"W.weight": torch.ones(2)})
            [tensor + 1 for _, tensor in [*layer.named_parameters(), *layer.named_buffers()]]


class TestTypedReplies:
    @pytest.mark.parametrize(
        ("reply", "blob"),
        [
            (Returned(value=TensorRef(index=0), call=1), b""),
            (Returned(value=TensorRef(index=-1), call=1, tensors=[numbers(2)[0]]), bytes(8)),
            (Returned(value=Plain(value=1), call=1, tensors=[numbers(2)[0]]), bytes(7)),
            (Returned(value=Plain(value=1), call=1, changed={0: 0}), b""),
            (
                Returned(value=Plain(value=1), call=1, changed={9: 0}, tensors=[numbers(2)[0]]),
                bytes(8),
            ),
        ],
    )
    def test_that_make_no_sense_break_the_protocol(self, reply, blob):
        with pytest.raises(ProtocolError):
            student((reply, blob)).anything(torch.ones(2))

    def test_a_gradient_of_another_shape(self):
        spec, blob = numbers(2)
        answer = Returned(value=TensorRef(index=0), call=1, tensors=[spec])
        wrong = Gradients(inputs={0: 0}, parameters={}, tensors=[numbers(3)[0]])
        x = torch.ones(2, requires_grad=True)
        with pytest.raises(ProtocolError):
            student((answer, blob), (wrong, bytes(12))).anything(x).sum().backward()

    @given(
        st.builds(
            Raised,
            kind=st.text(max_size=9),
            type=st.text(max_size=9),
            bases=st.lists(st.sampled_from(ERRORS)),
            message=st.text(max_size=9),
            frame=st.none() | st.builds(Frame, file=st.text(), line=st.integers(), text=st.text()),
        )
    )
    def test_an_error_is_a_student_error(self, raised):
        with pytest.raises(StudentError) as caught:
            student((raised, b"")).anything()
        if isinstance(caught.value, ValueError):
            assert {"ValueError", "UnicodeDecodeError"} & set(raised.bases)

    def test_an_unusable_result(self):
        with pytest.raises(CheckFailure, match="returned a sparse tensor"):
            student((Unusable(problem="a sparse tensor"), b"")).anything()
