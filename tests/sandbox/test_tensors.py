"""Tensors as bytes: what arrives is what was sent, and whatever lies is refused."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.wire.errors import ProtocolError
from grader.wire.frames import MAX_BLOB
from grader.wire.messages import TensorSpec
from grader.wire.tensors import DTYPES, MAX_TENSORS, Packer, UnusableTensor, unpack


def sent(tensor: torch.Tensor, *, keep_strides: bool = False) -> torch.Tensor:
    packer = Packer()
    assert packer.add(tensor, keep_strides=keep_strides) == 0
    (arrived,) = unpack(packer.specs, packer.blob, strided=keep_strides)
    return arrived


def numbers(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    count = torch.arange(math.prod(shape)).reshape(shape)
    return (count % 2 == 1) if dtype is torch.bool else (count - 3).to(dtype)


LAYOUTS = {
    "scalar": torch.tensor(1.5),
    "empty": torch.zeros(0, 3),
    "empty in the middle": torch.zeros(2, 0, 3).transpose(0, 2),
    "transposed": numbers(3, 4).t(),
    "every second": numbers(10)[1::2],
    "with an offset": numbers(10)[3:],
    "a column": numbers(4, 5)[:, 2],
    "one number of a column": numbers(4, 5)[:1, 2],
    "one number of a complex one": torch.tensor([1 + 2j]).imag,
    "expanded": numbers(3, 1, 2).expand(3, 4, 2),
    "permuted": numbers(2, 3, 4).permute(2, 0, 1),
    "negated lazily": torch.randn(3, 4, dtype=torch.complex64).conj().imag,
    "conjugated lazily": torch.randn(3, 4, dtype=torch.complex64).conj(),
    "conjugated and transposed": torch.randn(3, 4, dtype=torch.complex64).t().conj(),
    "not finite": torch.tensor([math.nan, math.inf, -math.inf, -0.0]),
    "a parameter": torch.nn.Parameter(numbers(2, 2)),
}


class TestRoundTrip:
    @pytest.mark.parametrize("keep_strides", [False, True])
    @pytest.mark.parametrize("tensor", LAYOUTS.values(), ids=LAYOUTS)
    def test_layouts(self, tensor, keep_strides):
        arrived = sent(tensor, keep_strides=keep_strides)
        assert arrived.dtype == tensor.dtype
        assert arrived.shape == tensor.shape
        assert torch.equal(arrived.nan_to_num(7), tensor.detach().nan_to_num(7))
        assert torch.equal(arrived.isnan(), tensor.isnan())
        assert not arrived.is_neg()
        assert not arrived.is_conj()

    @pytest.mark.parametrize("name", DTYPES)
    def test_dtypes(self, name):
        tensor = numbers(3, 2, dtype=DTYPES[name])
        assert sent(tensor).dtype == tensor.dtype
        assert torch.equal(sent(tensor), tensor)
        assert torch.equal(sent(tensor.t(), keep_strides=True), tensor.t())

    def test_strides_are_kept_where_asked(self):
        tensor = numbers(2, 3, 4).transpose(0, 2)
        assert sent(tensor, keep_strides=True).stride() == tensor.stride()
        assert sent(tensor).is_contiguous()

    def test_an_expanded_tensor_arrives_as_one(self):
        arrived = sent(numbers(1, 4).expand(3, 4), keep_strides=True)
        assert arrived.stride() == (0, 1)
        arrived[0, 0] = 9
        assert arrived[2, 0] == 9

    def test_meta_has_no_bytes(self):
        packer = Packer()
        packer.add(torch.empty(3, 4, device="meta", dtype=torch.float64))
        assert packer.blob == b""
        (arrived,) = unpack(packer.specs, packer.blob)
        assert (arrived.device.type, arrived.shape) == ("meta", (3, 4))
        assert arrived.dtype == torch.float64

    def test_several_share_a_frame_and_no_memory(self):
        packer = Packer()
        tensor = numbers(4)
        indices = [packer.add(t) for t in (tensor, torch.zeros(0), tensor, numbers(2, 2).bool())]
        arrived = unpack(packer.specs, packer.blob)
        assert indices == [0, 1, 2, 3]
        arrived[0].zero_()
        assert torch.equal(arrived[2], tensor)
        assert torch.equal(arrived[3], numbers(2, 2).bool())

    def test_arriving_tensors_outlive_the_frame(self):
        packer = Packer()
        packer.add(numbers(4))
        (arrived,) = unpack(packer.specs, packer.blob)
        packer.blob[:] = bytes(len(packer.blob))
        assert torch.equal(arrived, numbers(4))

    def test_whether_it_is_trained_is_said(self):
        packer = Packer()
        packer.add(torch.zeros(2, requires_grad=True))
        packer.add(torch.zeros(2, 3, requires_grad=True).t(), keep_strides=True)
        packer.add(torch.zeros(2))
        assert [spec.requires_grad for spec in packer.specs] == [True, True, False]

    @given(
        shape=st.lists(st.integers(0, 4), max_size=5),
        name=st.sampled_from(sorted(DTYPES)),
        order=st.randoms(use_true_random=False),
        keep_strides=st.booleans(),
    )
    def test_any_permutation(self, shape, name, order, keep_strides):
        axes = list(range(len(shape)))
        order.shuffle(axes)
        tensor = numbers(*shape, dtype=DTYPES[name]).permute(axes)
        assert torch.equal(sent(tensor, keep_strides=keep_strides), tensor)


class TestUnusable:
    @pytest.mark.parametrize(
        ("tensor", "words"),
        [
            (torch.eye(3).to_sparse(), "sparse"),
            (torch.zeros([1] * 9), "too many axes"),
            (torch.zeros(2, dtype=torch.uint16), "unusual dtype"),
            (torch.zeros(1).expand(MAX_BLOB), "larger"),
            (torch.zeros(1).expand(10**12), "larger"),
            (torch.zeros(1, device="meta").expand(10**13), "larger"),
            (torch.zeros(0, 1).expand(0, 10**13), "larger"),
        ],
    )
    @pytest.mark.parametrize("keep_strides", [False, True])
    def test_says_why(self, tensor, words, keep_strides):
        with pytest.raises(UnusableTensor, match=words):
            Packer().add(tensor, keep_strides=keep_strides)

    @pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors")
    @pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
    def test_deprecated_kinds(self):
        nested = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])
        with pytest.raises(UnusableTensor, match="nested"):
            Packer().add(nested)
        with pytest.raises(UnusableTensor, match="quantised"):
            Packer().add(torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8))

    def test_frames_are_capped_as_a_whole(self):
        packer = Packer()
        half = torch.zeros(MAX_BLOB // 2 + 1, dtype=torch.uint8)
        packer.add(half)
        with pytest.raises(UnusableTensor, match="larger"):
            packer.add(half)


def spec(dtype="float32", shape=(2,), size=8, **fields) -> TensorSpec:
    return TensorSpec(dtype, list(shape), size, **fields)


LIES = {
    "unknown dtype": (spec("object"), 8),
    "dtype with a path": (spec("float32.__class__"), 8),
    "more numbers than bytes": (spec(shape=[3]), 8),
    "fewer numbers than bytes": (spec(shape=[1]), 8),
    "bytes that are not there": (spec(), 4),
    "bytes that nobody claims": (spec(), 9),
    "negative size": (spec(size=-8), 8),
    "negative axis": (spec(shape=[-2]), 8),
    "two negative axes": (spec(shape=[-1, -2]), 8),
    "too many axes": (spec(shape=[1] * 8 + [2]), 8),
    "product that overflows": (spec(shape=[2**62, 4], size=0), 0),
    "zero hides an overflow": (spec(shape=[0, 2**31, 2**31, 2**31], size=0), 0),
    "huge on meta": (spec(shape=[2**31] * 4, size=0, device="meta"), 0),
    "meta with bytes": (spec(device="meta"), 8),
    "another device": (spec(device="cuda"), 8),
    "bytes left over": (spec(size=8), 16),
    "strides": (spec(shape=[2, 2], size=12, strides=[1, 1]), 12),
    "strides that expand": (spec(shape=[2**30, 2**9], size=4, strides=[0, 0]), 4),
}


class TestLies:
    @pytest.mark.parametrize(("lie", "size"), LIES.values(), ids=LIES)
    def test_are_refused(self, lie, size):
        with pytest.raises(ProtocolError):
            unpack([lie], bytes(size))

    @pytest.mark.parametrize(
        "lie",
        [
            spec(shape=[2, 2], size=16, strides=[1]),
            spec(shape=[2, 2], size=8, strides=[1, -1]),
            spec(shape=[2, 2], size=8, strides=[2, 1]),
            spec(shape=[2, 2], size=20, strides=[2, 1]),
            spec(shape=[2, 2], size=12, strides=[2**40, 1]),
        ],
    )
    def test_about_strides_are_refused_where_strides_may_be_sent(self, lie):
        with pytest.raises(ProtocolError):
            unpack([lie], bytes(lie.size), strided=True)

    def test_too_many_tensors(self):
        with pytest.raises(ProtocolError):
            unpack([spec(shape=[0], size=0)] * (MAX_TENSORS + 1), b"")

    def test_booleans_are_made_of_any_byte(self):
        (arrived,) = unpack([spec("bool", [3], 3)], b"\x00\x02\xff")
        assert arrived.tolist() == [False, True, True]

    @given(
        specs=st.lists(
            st.builds(
                TensorSpec,
                st.sampled_from([*sorted(DTYPES), "object", ""]),
                st.lists(st.integers(-1, 5) | st.integers(-(2**63), 2**64), max_size=9),
                st.integers(0, 64) | st.integers(-(2**63), 2**64),
                st.just([]) | st.lists(st.integers(-1, 5) | st.integers(0, 2**64), max_size=5),
                st.sampled_from(["cpu", "meta", "cuda", "cpu:7"]),
            ),
            max_size=4,
        ),
        blob=st.binary(max_size=80),
        strided=st.booleans(),
    )
    @settings(max_examples=300)
    def test_nothing_else_is_raised(self, specs, blob, strided):
        try:
            tensors = unpack(specs, blob, strided=strided)
        except ProtocolError:
            return
        # Only strides, which the trusted side alone may send, can claim more than was sent.
        claimed = sum(t.numel() * t.element_size() for t in tensors if not t.is_meta)
        assert strided or claimed == len(blob)
