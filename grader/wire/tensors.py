"""Tensors as raw bytes and a spec, both ways, every field checked as if an enemy had sent it."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence

import torch

from grader.wire.budget import MAX_BLOB, MAX_DIMS, MAX_NUMEL, MAX_TENSORS, Budget, Held, cost
from grader.wire.errors import ProtocolError
from grader.wire.messages import Problem, TensorSpec

DTYPES: dict[str, torch.dtype] = {
    name: getattr(torch, name)
    for name in (
        "float32",
        "float64",
        "float16",
        "bfloat16",
        "int64",
        "int32",
        "int16",
        "int8",
        "uint8",
        "bool",
        "complex64",
        "complex128",
    )
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
TOO_LARGE: Problem = "a tensor that is larger than this grader accepts"
TOO_LARGE_TOGETHER: Problem = "tensors that are larger together than this grader accepts"


class Unsendable(Exception):
    """Something that cannot be sent; ``problem`` says why, ``size`` how much it is, if too much."""

    def __init__(self, problem: Problem, size: int = 0) -> None:
        super().__init__(problem)
        self.problem: Problem = problem
        self.size = size


class UnusableTensor(Unsendable):
    """A tensor that cannot be sent, such as a sparse one."""


class Packer:
    """Collects tensors for one frame, of so many numbers together if that is limited."""

    def __init__(self, most_numbers: int = MAX_BLOB) -> None:
        self.specs: list[TensorSpec] = []
        self.blob = bytearray()
        self._most_numbers = most_numbers
        self._numbers = 0

    def add(self, tensor: torch.Tensor, *, keep_strides: bool = False) -> int:
        """Append ``tensor`` and return its index; raises UnusableTensor.

        With ``keep_strides`` a non-contiguous tensor arrives with the same strides.
        """
        plain = _plain(tensor, self._most_numbers)
        if not plain.is_meta:
            self._numbers += plain.numel()
        if self._numbers > self._most_numbers:
            raise UnusableTensor(TOO_LARGE_TOGETHER, self._numbers)
        strides: list[int] = []
        if plain.is_meta:
            data = b""
        elif keep_strides and not plain.is_contiguous():
            strides = list(plain.stride())
            extent = 1 + sum((n - 1) * s for n, s in zip(plain.shape, strides, strict=True))
            data = raw_bytes(plain.as_strided((extent,), (1,)))
        else:
            data = raw_bytes(plain.contiguous())
        return self._append(tensor, data, strides)

    def _append(self, tensor: torch.Tensor, data: bytes, strides: list[int]) -> int:
        if len(self.blob) + len(data) > MAX_BLOB:
            raise UnusableTensor(TOO_LARGE_TOGETHER, self._numbers)
        self.specs.append(
            TensorSpec(
                NAMES[tensor.dtype],
                list(tensor.shape),
                len(data),
                strides,
                tensor.device.type,
                tensor.requires_grad,
            )
        )
        self.blob += data
        return len(self.specs) - 1


def _plain(tensor: torch.Tensor, most_numbers: int) -> torch.Tensor:
    """The same numbers, strided and without bits that change their meaning, on the CPU or meta."""
    if tensor.is_quantized:
        raise UnusableTensor("a quantised tensor")
    if tensor.is_nested:
        raise UnusableTensor("a nested tensor")
    if tensor.layout is not torch.strided:
        raise UnusableTensor("a sparse tensor")
    if tensor.dtype not in NAMES:
        raise UnusableTensor("a tensor of an unusual dtype")
    if tensor.dim() > MAX_DIMS:
        raise UnusableTensor("a tensor with too many axes")
    numbers = 0 if tensor.is_meta else tensor.numel()
    size = numbers * tensor.element_size()
    if numbers > most_numbers or size > MAX_BLOB or claimed(tensor.shape) >= MAX_NUMEL:
        raise UnusableTensor(TOO_LARGE, tensor.numel())
    tensor = tensor.detach().resolve_conj().resolve_neg()
    return tensor if tensor.device.type in ("cpu", "meta") else tensor.cpu()


def raw_bytes(dense: torch.Tensor) -> bytes:
    """The memory of a contiguous tensor on the CPU; raises RuntimeError if it has too little."""
    if dense.numel() == 0:
        return b""
    if dense.storage_offset() * dense.itemsize + dense.nbytes > dense.untyped_storage().nbytes():
        raise RuntimeError("a tensor whose storage was made smaller than itself")
    return ctypes.string_at(dense.data_ptr(), dense.nbytes)


def unpack(
    specs: list[TensorSpec],
    blob: bytes | bytearray,
    *,
    strided: bool = False,
    budget: Budget | None = None,
) -> list[torch.Tensor]:
    """Rebuild the tensors of a frame, each owning its memory; raises ProtocolError.

    Only with ``strided`` may a tensor claim strides, and so more numbers than it has bytes. A
    ``budget`` counts their memory for as long as something uses it.
    """
    if len(specs) > MAX_TENSORS:
        raise ProtocolError("it sent too many tensors")
    tensors, offset = [], 0
    for spec in specs:
        if spec.strides and not strided:
            raise ProtocolError("it sent a malformed tensor")
        tensors.append(_unpack_one(spec, blob, offset, budget))
        offset += spec.size
    if offset != len(blob):
        raise ProtocolError("it sent bytes that belong to no tensor")
    return tensors


def _unpack_one(
    spec: TensorSpec, blob: bytes | bytearray, offset: int, budget: Budget | None
) -> torch.Tensor:
    dtype = DTYPES.get(spec.dtype)
    if dtype is None or len(spec.shape) > MAX_DIMS or spec.size < 0:
        raise ProtocolError("it sent a malformed tensor")
    if min(spec.shape, default=0) < 0 or claimed(spec.shape) >= MAX_NUMEL:
        raise ProtocolError("it sent a tensor of an impossible shape")
    if spec.device == "meta":
        if spec.size:
            raise ProtocolError("it sent a malformed tensor")
        return torch.empty(spec.shape, dtype=dtype, device="meta")
    if spec.device != "cpu" or offset + spec.size > len(blob):
        raise ProtocolError("it sent a malformed tensor")
    count = _elements(spec)
    if count * dtype.itemsize != spec.size:
        raise ProtocolError("it sent a tensor whose shape does not match its bytes")
    if count == 0:
        return torch.empty(spec.shape, dtype=dtype)
    data = memoryview(blob)[offset : offset + spec.size]
    memory = bytearray(data) if budget is None else Held(budget, cost(spec), data)
    if dtype is torch.bool:
        flat = torch.frombuffer(memory, dtype=torch.uint8).ne_(0).view(torch.bool)
    else:
        flat = torch.frombuffer(memory, dtype=dtype)
    if spec.strides:
        return flat.as_strided(spec.shape, spec.strides)
    return flat.reshape(spec.shape)


def claimed(shape: Sequence[int]) -> int:
    """Numbers of a shape; a zero counts as one, as torch multiplies the other sizes even then."""
    return math.prod(shape) or math.prod(max(n, 1) for n in shape)


def _elements(spec: TensorSpec) -> int:
    if not spec.strides:
        return math.prod(spec.shape)
    if len(spec.strides) != len(spec.shape) or any(not 0 <= s < 2**31 for s in spec.strides):
        raise ProtocolError("it sent a malformed tensor")
    if 0 in spec.shape:
        return 0
    return 1 + sum((n - 1) * s for n, s in zip(spec.shape, spec.strides, strict=True))
