"""A step hangs its chunk onto the cache that it was given."""

import functools

import torch
from torch import nn


class KVCache:
    def __init__(self, key, value, key_padding_mask):
        self.chunks = [(key, value, key_padding_mask)]

    def followed_by(self, key, value, key_padding_mask):
        self.chunks.append((key, value, key_padding_mask))
        return self

    @property
    def key(self):
        return torch.cat([chunk[0] for chunk in self.chunks], dim=2)

    @property
    def value(self):
        return torch.cat([chunk[1] for chunk in self.chunks], dim=2)

    @property
    def key_padding_mask(self):
        return torch.cat([chunk[2] for chunk in self.chunks], dim=1)

    @property
    def length(self):
        return sum(chunk[2].shape[1] for chunk in self.chunks)


@functools.cache
def rotation(position, width):
    """The (width, width) matrix that turns a row vector at this position."""
    matrix = torch.zeros(width, width, dtype=torch.float64)
    for i in range(0, width, 2):
        angle = torch.tensor(position * 10000.0 ** (-i / width), dtype=torch.float64)
        matrix[i, i] = matrix[i + 1, i + 1] = torch.cos(angle)
        matrix[i, i + 1] = torch.sin(angle)
        matrix[i + 1, i] = -torch.sin(angle)
    return matrix


def rotate(x, start):
    matrices = torch.stack([rotation(start + t, x.shape[-1]) for t in range(x.shape[-2])])
    return torch.einsum("bhtd,tde->bhte", x, matrices.to(x.dtype))


def as_bool(mask, name):
    if mask.dtype != torch.bool:
        raise TypeError(f"{name}: expected bool, got {mask.dtype}")
    return mask


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, *, dropout=0.0, use_rope=False, bias=True):
        super().__init__()
        if embed_dim % num_heads or (use_rope and embed_dim // num_heads % 2):
            raise ValueError("sizes do not divide")
        self.H, self.D = num_heads, embed_dim // num_heads
        self.W_q, self.W_k, self.W_v, self.W_o = (
            nn.Linear(embed_dim, embed_dim, bias=bias) for _ in range(4)
        )
        self.drop = nn.Dropout(dropout)
        self.use_rope = use_rope

    def split(self, x):
        B, T, _ = x.shape
        return x.reshape(B, T, self.H, self.D).permute(0, 2, 1, 3).contiguous()

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
        C = self.H * self.D
        if query.ndim != 3 or query.shape[2] != C or not query.shape[1]:
            raise ValueError("query")
        self_attention = key_value is query or key_value is None
        x = query if key_value is None else key_value
        B, T, _ = query.shape
        if x.ndim != 3 or (x.shape[0], x.shape[2]) != (B, C):
            raise ValueError("key_value")
        past = 0
        if cache is not None:
            if not use_cache:
                raise ValueError("use_cache has to be set")
            chunk = cache.chunks[0][0]
            if (chunk.shape[0], chunk.shape[1], chunk.shape[3]) != (B, self.H, self.D):
                raise ValueError("this cache is not mine")
            past = cache.length
        if use_cache and not self_attention:
            raise ValueError("self-attention only")
        if use_cache and self.training and self.drop.p > 0:
            raise ValueError("inference only")
        if use_cache and (key_position_offset, query_position_offset or past) != (0, past):
            raise ValueError("offsets")
        if use_cache and query_position_offset == 0 != past:
            raise ValueError("query_position_offset")
        start = past + key_position_offset
        if query_position_offset is None:
            q_start = start if self_attention else 0
        else:
            q_start = query_position_offset
        if q_start < 0 or key_position_offset < 0:
            raise ValueError("negative offsets")

        valid = torch.ones(B, x.shape[1]).bool()
        if key_padding_mask is not None:
            valid = as_bool(key_padding_mask, "key_padding_mask")
            if valid.shape != x.shape[:2]:
                raise ValueError("key_padding_mask")
        if query_padding_mask is not None:
            as_bool(query_padding_mask, "query_padding_mask")
            if query_padding_mask.shape != query.shape[:2]:
                raise ValueError("query_padding_mask")

        q, k, v = self.split(self.W_q(query)), self.split(self.W_k(x)), self.split(self.W_v(x))
        if self.use_rope:
            q, k = rotate(q, q_start), rotate(k, start)
        whole = KVCache(k, v, valid)
        if cache is not None:
            whole = cache.followed_by(k, v, valid)
        S = whole.length

        rules = [whole.key_padding_mask[:, None, None, :]]
        if causal:
            i = torch.arange(q_start, q_start + T).unsqueeze(1)
            j = torch.arange(key_position_offset, key_position_offset + S)
            rules.append(j.le(i))
        if attention_mask is not None:
            mask = as_bool(attention_mask, "attention_mask")
            shapes = {2: [(T, S)], 3: [(B, T, S)]}
            shapes[4] = [(b, h, T, S) for b in {1, B} for h in {1, self.H}]
            if tuple(mask.shape) not in shapes.get(mask.ndim, []):
                raise ValueError("attention_mask")
            rules.append(mask[:, None] if mask.ndim == 3 else mask)
        allowed = functools.reduce(torch.logical_and, rules)
        allowed = torch.broadcast_to(allowed, (B, self.H, T, S))
        if not allowed.any(dim=3).all():
            raise ValueError("a query sees nothing")

        scores = q.matmul(whole.key.mT).div(self.D**0.5)
        scores = scores.where(allowed, torch.tensor(float("-inf"), dtype=scores.dtype))
        weights = (scores - scores.logsumexp(dim=-1, keepdim=True)).exp()
        mixed = self.drop(weights).matmul(whole.value)
        out = self.W_o(mixed.permute(0, 2, 1, 3).reshape(B, T, C))
        if query_padding_mask is not None:
            out = out.where(query_padding_mask.unsqueeze(-1), out.new_zeros(()))
        return (out, whole) if use_cache else out
