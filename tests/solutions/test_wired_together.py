"""All references in one language model: trained, it reaches the entropy floor of its task.

Each block of the reference transformer gets the attention of another assignment.
"""

from __future__ import annotations

import math
import types
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from torch import nn

from grader.course.loading import load_course
from grader.execution import loading
from grader.execution.training import fit

COURSE = load_course(Path(__file__).parents[2])
WIDTH, HEADS, HEAD_WIDTH = 32, 4, 8
VOCABULARY, HALF, BATCH, STEPS, LEARNING_RATE = 10, 5, 32, 200, 3e-3
LENGTH = 2 * HALF
FLOOR = math.log(VOCABULARY)

Attend = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""Takes x (B, T, C) and a mask (T, T), True allowed."""


@pytest.fixture(scope="module")
def references() -> dict[str, types.ModuleType]:
    """The reference modules by assignment id."""
    return {
        id: loading.load(str(assignment.reference), f"wired_{id}")
        for id, assignment in COURSE.assignments.items()
    }


class Wired(nn.Module):
    """An attention that a block can call as it calls nn.MultiheadAttention."""

    def __init__(self, attend: Attend, *parts: nn.Module) -> None:
        super().__init__()
        self.parts = nn.ModuleList(parts)
        self.attend = attend

    def forward(
        self,
        query: torch.Tensor,
        key: torch.Tensor,
        value: torch.Tensor,
        *,
        attn_mask: torch.Tensor,
        need_weights: bool,
    ) -> tuple[torch.Tensor, None]:
        return self.attend(query, ~attn_mask), None


def attentions(references: dict[str, types.ModuleType]) -> dict[str, Wired]:
    """One attention for each way to wire references, by the ids of what it uses."""

    def projections() -> list[nn.Linear]:
        return [nn.Linear(WIDTH, WIDTH) for _ in range(4)]

    heads = references["heads"]
    masks = references["masks"]
    by_hand, dropped, sliding, tiled = (projections() for _ in range(4))
    rope = references["rope"].RotaryEmbedding()
    dropout = references["dropout"].MaskedScaledDotProductAttention(dropout=0.0)
    mha = references["mha"].MultiHeadAttention(embed_dim=WIDTH, num_heads=HEADS)
    mqa = references["mqa"].MultiQueryAttention(embed_dim=WIDTH, num_heads=HEADS)
    gqa = references["gqa"].GroupedQueryAttention(embed_dim=WIDTH, num_heads=HEADS, num_kv_groups=2)
    mla = references["mla"].MultiHeadLatentAttention(
        embed_dim=WIDTH, num_heads=HEADS, q_latent_dim=20, kv_latent_dim=12
    )
    cached = references["cached_mha"].CachedMultiHeadAttention(
        embed_dim=WIDTH, num_heads=HEADS, use_rope=True
    )
    mla_rope = references["mla_rope"].RotaryMultiHeadLatentAttention(
        embed_dim=WIDTH,
        num_heads=HEADS,
        head_dim=HEAD_WIDTH,
        rope_dim=4,
        q_latent_dim=20,
        kv_latent_dim=12,
    )

    def split(linear: nn.Linear, x: torch.Tensor) -> torch.Tensor:
        return heads.split_heads(linear(x), HEADS)  # type: ignore[no-any-return]

    def attend_by_hand(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        w_q, w_k, w_v, w_o = by_hand
        batch, length, _ = x.shape
        whole = masks.padding_mask(torch.full((batch,), length), length)[:, None, None]
        allowed = masks.combine_masks(mask, masks.causal_mask(length), whole)
        query, key = rope(split(w_q, x)), rope(split(w_k, x))
        attend = references["attention"].scaled_dot_product_attention
        mixed, _ = attend(query, key, split(w_v, x), mask=allowed)
        return w_o(heads.merge_heads(mixed))  # type: ignore[no-any-return]

    def attend_with_dropout(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        w_q, w_k, w_v, w_o = dropped
        mixed = dropout(split(w_q, x), split(w_k, x), split(w_v, x), mask=mask)
        return w_o(heads.merge_heads(mixed))  # type: ignore[no-any-return]

    def attend_to_a_window(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        w_q, w_k, w_v, w_o = sliding
        attend = references["sliding_window"].sliding_window_attention
        # Wide enough to see the token that is to be repeated.
        mixed, _ = attend(split(w_q, x), split(w_k, x), split(w_v, x), window=HALF + 1)
        return w_o(heads.merge_heads(mixed))  # type: ignore[no-any-return]

    def attend_in_blocks(x: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        w_q, w_k, w_v, w_o = tiled
        attend = references["online_softmax"].online_softmax_attention
        query, key, value = split(w_q, x), split(w_k, x), split(w_v, x)
        # It knows no mask: each query meets the keys up to its own.
        rows = [
            attend(
                query[..., t : t + 1, :],
                key[..., : t + 1, :],
                value[..., : t + 1, :],
                query_block=1,
                key_block=3,
            )[0]
            for t in range(x.shape[1])
        ]
        return w_o(heads.merge_heads(torch.cat(rows, dim=-2)))  # type: ignore[no-any-return]

    return {
        "attention, masks, heads, rope": Wired(attend_by_hand, *by_hand, rope),
        "dropout, heads": Wired(attend_with_dropout, *dropped, dropout),
        "sliding_window, heads": Wired(attend_to_a_window, *sliding),
        "online_softmax, heads": Wired(attend_in_blocks, *tiled),
        "mha": Wired(lambda x, mask: mha(x, x, x, mask=mask)[0], mha),
        "mqa": Wired(lambda x, mask: mqa(x, mask=mask), mqa),
        "gqa": Wired(lambda x, mask: gqa(x, mask=mask), gqa),
        "mla": Wired(lambda x, mask: mla(x, mask=mask)[0], mla),
        "cached_mha": Wired(lambda x, mask: cached(x, attention_mask=mask, causal=True), cached),
        "mla_rope": Wired(lambda x, mask: mla_rope(x, mask=mask), mla_rope),
    }


def texts(count: int, generator: torch.Generator) -> torch.Tensor:
    """Sequences (count, 2 HALF) whose first half is random and whose second half repeats it."""
    half = torch.randint(0, VOCABULARY, (count, HALF), generator=generator)
    return half.repeat(1, 2)


@pytest.fixture(scope="module")
def model(references: dict[str, types.ModuleType]) -> nn.Module:
    """The language model, untrained."""
    torch.manual_seed(0)
    wired = attentions(references)
    made: nn.Module = references["transformer"].TransformerLM(
        vocab_size=VOCABULARY,
        embed_dim=WIDTH,
        num_heads=HEADS,
        num_layers=len(wired),
        ffn_dim=2 * WIDTH,
        max_length=LENGTH,
    )
    for block, attention in zip(made.blocks, wired.values(), strict=True):
        block.attention = attention
    table = references["positional_encoding"].positional_encoding(LENGTH, WIDTH)
    with torch.no_grad():
        made.position_embedding.weight.copy_(table)
    return made


def test_every_reference_takes_part(references: dict[str, types.ModuleType]) -> None:
    used = {id for ids in attentions(references) for id in ids.split(", ")}
    assert used | {"transformer", "positional_encoding"} == set(COURSE.assignments)


def test_the_model_reaches_the_floor_and_goes_no_lower(model: nn.Module) -> None:
    generator = torch.Generator().manual_seed(1)
    batches = texts(STEPS * BATCH, generator).view(STEPS, BATCH, LENGTH)
    fit(model.train(), batches, learning_rate=LEARNING_RATE)
    tokens = texts(256, generator)
    with torch.no_grad():
        logits = model.eval()(tokens[:, :-1])
    losses = nn.functional.cross_entropy(logits.mT, tokens[:, 1:], reduction="none")
    assert float(losses[:, : HALF - 1].mean()) == pytest.approx(FLOOR, abs=0.1)
    assert float(losses[:, HALF - 1 :].mean()) < 0.1
