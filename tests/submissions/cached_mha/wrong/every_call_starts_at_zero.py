"""RoPE counts positions from 0 in every call, also after cached tokens."""

import math
from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class KVCache:
    key: "torch.Tensor"
    value: "torch.Tensor"
    key_padding_mask: "torch.Tensor"

    def __post_init__(self):
        self.length = int(self.key_padding_mask.shape[1])


def turned(x, positions):
    """x (B, T, D) of one head."""
    out = torch.empty_like(x)
    width = x.shape[-1]
    for pair in range(width // 2):
        angle = positions * 10000 ** (-2 * pair / width)
        cos, sin = torch.cos(angle).to(x.dtype), torch.sin(angle).to(x.dtype)
        a, b = x[..., 2 * pair], x[..., 2 * pair + 1]
        out[..., 2 * pair] = a * cos - b * sin
        out[..., 2 * pair + 1] = a * sin + b * cos
    return out


class Head(nn.Module):
    def __init__(self, width, head_width, bias):
        super().__init__()
        self.q = nn.Linear(width, head_width, bias)
        self.k = nn.Linear(width, head_width, bias)
        self.v = nn.Linear(width, head_width, bias)


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, *, dropout=0.0, use_rope=False, bias=True):
        super().__init__()
        head_width, left_over = divmod(embed_dim, num_heads)
        if left_over:
            raise ValueError(f"{embed_dim} columns cannot be dealt out to {num_heads} heads")
        if use_rope and head_width % 2:
            raise ValueError("an odd head cannot be cut into pairs")
        self.width, self.head_width, self.rope = embed_dim, head_width, use_rope
        self.heads = nn.ModuleList(Head(embed_dim, head_width, bias) for _ in range(num_heads))
        self.join = nn.Linear(embed_dim, embed_dim, bias)
        self.rate = dropout

    def load_weights(self, weights):
        own = dict(self.named_parameters())
        for name, tensor in weights.items():
            letter, kind = name[2], name.rpartition(".")[2]
            if letter == "o":
                parts = {f"join.{kind}": tensor}
            else:
                rows = tensor.split(self.head_width)
                parts = {f"heads.{h}.{letter}.{kind}": part for h, part in enumerate(rows)}
            for place, part in parts.items():
                if place in own:
                    own[place].copy_(part)

    def _padding(self, mask, shape, name):
        if mask is None:
            return torch.ones(shape, dtype=torch.bool)
        if mask.dtype != torch.bool:
            raise TypeError(f"{name} holds {mask.dtype}, not bool")
        if tuple(mask.shape) != tuple(shape):
            raise ValueError(f"{name} is {tuple(mask.shape)} instead of {tuple(shape)}")
        return mask

    def _mask_of_head(self, mask, batch, head, size):
        """(B or 1, T, S), or None."""
        if mask is None:
            return None
        if mask.dtype != torch.bool:
            raise TypeError("attention_mask is not bool")
        if tuple(mask.shape[-2:]) != size:
            raise ValueError("attention_mask does not end in (T, S)")
        rank = mask.dim()
        if rank == 2:
            return mask[None]
        if rank == 3 and len(mask) == batch:
            return mask
        if rank == 4 and len(mask) in (1, batch):
            if mask.shape[1] == 1:
                return mask[:, 0]
            if mask.shape[1] == len(self.heads):
                return mask[:, head]
        raise ValueError("attention_mask has axes that do not fit")

    def forward(
        self,
        query,
        key_value=None,
        *,
        attention_mask=None,
        key_padding_mask=None,
        query_padding_mask=None,
        causal=False,
        cache=None,
        use_cache=False,
        query_position_offset=None,
        key_position_offset=0,
    ):
        alone = key_value is None or key_value is query
        source = query if alone else key_value
        if query.dim() != 3 or query.shape[-1] != self.width or query.shape[1] == 0:
            raise ValueError("query")
        if source.dim() != 3 or source.shape[-1] != self.width or len(source) != len(query):
            raise ValueError("key_value")
        if cache is not None and not use_cache:
            raise ValueError("the updated cache would be lost")
        past = cache.length if cache is not None else 0
        if use_cache:
            if not alone:
                raise ValueError("a cache is for self-attention")
            if self.training and self.rate > 0:
                raise ValueError("a cache is for inference")
            if key_position_offset != 0:
                raise ValueError("keys of a cache start at 0")
            if query_position_offset is not None and query_position_offset != past:
                raise ValueError("queries go on after the cache")
        if cache is not None and (
            len(cache.key) != len(query)
            or cache.key.shape[1] != len(self.heads)
            or cache.key.shape[-1] != self.head_width
        ):
            raise ValueError("the cache was made by another module or for another batch")
        if query_position_offset is None:
            query_position_offset = past + (key_position_offset if alone else 0)
        if query_position_offset < 0 or key_position_offset < 0:
            raise ValueError("offset below zero")

        batch, queries = query.shape[:2]
        present = self._padding(key_padding_mask, source.shape[:2], "key_padding_mask")
        real = self._padding(query_padding_mask, (batch, queries), "query_padding_mask")
        if cache is not None:
            present = torch.cat((cache.key_padding_mask, present), 1)
        keys = present.shape[1]
        q_places = query_position_offset + torch.arange(queries)
        new_places = past + key_position_offset + torch.arange(source.shape[1])
        k_places = key_position_offset + torch.arange(keys)

        outputs, kept_keys, kept_values = [], [], []
        for h, head in enumerate(self.heads):
            q, k, v = head.q(query), head.k(source), head.v(source)
            if self.rope:
                q, k = turned(q, q_places - past), turned(k, new_places - past)
            if cache is not None:
                k = torch.cat((cache.key[:, h], k), 1)
                v = torch.cat((cache.value[:, h], v), 1)
            kept_keys.append(k)
            kept_values.append(v)
            blocked = ~present[:, None].expand(batch, queries, keys)
            if causal:
                blocked = blocked | (k_places > q_places[:, None])
            mask = self._mask_of_head(attention_mask, batch, h, (queries, keys))
            if mask is not None:
                blocked = blocked | ~mask
            if blocked.all(-1).any():
                raise ValueError("nothing left to attend to")
            bias = torch.zeros(blocked.shape, dtype=q.dtype).masked_fill(blocked, -math.inf)
            scores = torch.baddbmm(bias, q, k.mT, alpha=1 / math.sqrt(self.head_width))
            share = torch.softmax(scores, -1)
            share = nn.functional.dropout(share, self.rate, training=self.training)
            outputs.append(share.bmm(v))
        result = self.join(torch.cat(outputs, -1))
        result = torch.where(real[..., None], result, torch.zeros_like(result))
        if not use_cache:
            return result
        return result, KVCache(torch.stack(kept_keys, 1), torch.stack(kept_values, 1), present)
