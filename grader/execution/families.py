"""What in torch does an assignment's job in one call: whoever forbids one member forbids them all.

This is what was decided of the operators and callables that a walk of torch finds, written down;
``tests/sandbox/test_families.py`` walks the installed torch, and fails for one that is not decided.
"""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple


class Computation(IntEnum):
    """What a call does. Each job contains the one before it, so that it can stand in for that."""

    ATTENTION = 1
    """From queries, keys and values to what the queries see."""
    MULTI_HEAD = 2
    """The same with several heads, and what projects to them and back."""
    BLOCK = 3
    """A layer of a transformer, or a stack of them."""


class FamilyMember(NamedTuple):
    """Something that does a job in one call."""

    name: str
    """As a report says it."""
    job: Computation


OPERATORS: dict[str, Computation] = {
    "scaled_dot_product_attention": Computation.ATTENTION,
    "_scaled_dot_product_attention_math": Computation.ATTENTION,
    "_scaled_dot_product_attention_math_for_mps": Computation.ATTENTION,
    "_scaled_dot_product_cudnn_attention": Computation.ATTENTION,
    "_scaled_dot_product_efficient_attention": Computation.ATTENTION,
    "_scaled_dot_product_flash_attention": Computation.ATTENTION,
    "_scaled_dot_product_flash_attention_for_cpu": Computation.ATTENTION,
    "_scaled_dot_product_fused_attention_overrideable": Computation.ATTENTION,
    "_cudnn_attention_forward": Computation.ATTENTION,
    "_efficient_attention_forward": Computation.ATTENTION,
    "_flash_attention_forward": Computation.ATTENTION,
    "_flash_attention_forward_no_dropout_inplace": Computation.ATTENTION,
    "_triton_scaled_dot_attention": Computation.ATTENTION,
    "_native_multi_head_attention": Computation.MULTI_HEAD,
    "_triton_multi_head_attention": Computation.MULTI_HEAD,
    "_transformer_encoder_layer_fwd": Computation.BLOCK,
}
"""Operators of ``aten``, all overloads of each."""

_FLASH = ("_flash_attention_forward", "_scaled_dot_product_flash_attention_forward")
_CALLABLES: dict[Computation, dict[str, list[str]]] = {
    Computation.ATTENTION: {
        "torch._decomp.decompositions": ["scaled_dot_product_flash_attention_for_cpu"],
        "torch._higher_order_ops.flex_attention": [
            "FlexAttentionAutogradOp",
            "FlexAttentionHOP",
            "_flex_attention_autocast_impl",
            "flex_attention_autocast_cpu",
            "flex_attention_autocast_cuda",
            "flex_attention_autograd",
            "flex_attention_functionalize",
            "flex_attention_proxy_torch_dispatch_mode",
            "math_attention",
            "sdpa_dense",
            "trace_flex_attention",
        ],
        "torch._inductor.fx_passes.fuse_attention": [
            f"_sfdp_{part}_{number}"
            for part in ("pattern", "replacement")
            for number in range(1, 31)
        ],
        "torch.distributed.tensor.experimental._context_parallel._attention": [
            "_scaled_dot_product_ring_cudnn_attention",
            "_scaled_dot_product_ring_efficient_attention",
            "_scaled_dot_product_ring_flash_attention",
            "_templated_ring_attention",
        ],
        "torch.nested._internal.sdpa": ["jagged_scaled_dot_product_attention"],
        "torch.nn.attention._fa3": [
            "_fa3_run_forward",
            "_fa3_flash_attention_forward_no_dropout_inplace_impl",
            *(f"_fa3{name}_impl{end}" for name in _FLASH for end in ("", "_default")),
        ],
        "torch.nn.attention._fa4": [
            "_fa4_run_forward",
            "_fa4_flash_attention_forward_no_dropout_inplace_impl",
            *(f"_fa4{name}_impl" for name in _FLASH),
        ],
        "torch.nn.attention.bias": ["CausalBias._dispatch"],
        "torch.nn.attention.experimental._scaled_dot_product_attention_quantized": [
            "_scaled_dot_product_attention_quantized"
        ],
        "torch.nn.attention.flex_attention": ["flex_attention"],
        "torch.nn.attention.varlen": [
            "_varlen_attn",
            "_varlen_attn_out",
            "varlen_attn",
            "varlen_attn_out",
        ],
        "torch.onnx.ops": ["attention"],
        "torch.onnx.ops._impl": ["attention_23"],
        "torch.sparse._triton_ops": ["_scaled_dot_product_attention"],
    },
    Computation.MULTI_HEAD: {
        "torch.ao.nn.quantizable.modules.activation": ["MultiheadAttention"],
        "torch.ao.nn.quantized.modules.activation": ["MultiheadAttention"],
        "torch.nn.functional": ["multi_head_attention_forward"],
        "torch.nn.modules.activation": ["MultiheadAttention"],
        "torch.testing._internal.distributed._tensor.common_dtensor": ["Attention"],
    },
    Computation.BLOCK: {
        "torch.nn.modules.transformer": [
            "Transformer",
            "TransformerDecoder",
            "TransformerDecoderLayer",
            "TransformerEncoder",
            "TransformerEncoderLayer",
        ],
        "torch.testing._internal.common_fsdp": ["TransformerWithSharedParams"],
        "torch.testing._internal.distributed._tensor.common_dtensor": [
            "Transformer",
            "TransformerBlock",
        ],
    },
}


class Definition(NamedTuple):
    """Where a function or class of torch is defined."""

    module: str
    name: str


CALLABLES: dict[Definition, Computation] = {
    Definition(module, name): job
    for job, modules in _CALLABLES.items()
    for module, names in modules.items()
    for name in names
}
"""Functions and classes that are written in Python."""

METHODS = frozenset({"__init__", "__new__", "__call__", "forward", "apply"})
"""What of a class does its job; all else in it is what others may use."""

_PUBLIC = {
    "scaled_dot_product_attention": "torch.nn.functional.scaled_dot_product_attention",
    "torch.nn.modules.activation": "torch.nn",
    "torch.nn.modules.transformer": "torch.nn",
}
_MODULES = {
    ".".join(parts[:end])
    for definition in CALLABLES
    for parts in [definition.module.split(".")]
    for end in range(1, len(parts) + 1)
}
_NAMESPACES = {"higher_order", "torch_attn"}
"""Of the dispatcher, for what those functions are registered as."""
_NAMED: dict[str, list[Definition]] = {}
for _definition in CALLABLES:
    _NAMED.setdefault(_definition.name, []).append(_definition)


def operator(name: str) -> FamilyMember:
    """The member that an operator of ``aten`` is."""
    return FamilyMember(_PUBLIC.get(name, f"torch.ops.aten.{name}"), OPERATORS[name])


def function(definition: Definition) -> FamilyMember:
    """The member that a function or class in Python is."""
    module = _PUBLIC.get(definition.module, definition.module)
    return FamilyMember(f"{module}.{definition.name}", CALLABLES[definition])


def names() -> list[str]:
    """What reports call the members: where most of them are imported from."""
    return [*(operator(name).name for name in OPERATORS), *(function(at).name for at in CALLABLES)]


def member(dotted: str) -> FamilyMember | None:
    """What a dotted name of torch means of what does a job, by whatever way it leads there.

    An operator has a name of its own, so that any way to it counts. Other names are not as rare:
    those count within the part of torch that has them, and in the dispatcher's.
    """
    parts = dotted.split(".")
    if parts[0] != "torch":
        return None
    namespace = parts[2] if parts[1:2] == ["ops"] and len(parts) > 2 else None
    for end, name in enumerate(parts):
        if not name or ".".join(parts[: end + 1]) in _MODULES:
            continue
        if name in OPERATORS and namespace in (None, "aten"):
            return operator(name)
        if name[0].isupper() and set(parts[end + 1 :]) - METHODS:
            continue  # such as nn.Transformer.generate_square_subsequent_mask
        for definition in _NAMED.get(name, []):
            if definition.module.split(".")[1] in parts[:end] or namespace in _NAMESPACES:
                return function(definition)
    return None


def forbidding(found: FamilyMember, forbidden: Iterable[str]) -> str | None:
    """The entry of a list that forbids a member: its own name first, else one of its family."""
    entries = [entry for entry in forbidden if (known := member(entry)) and known.job <= found.job]
    return found.name if found.name in entries else next(iter(entries), None)
