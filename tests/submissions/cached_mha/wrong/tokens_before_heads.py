"""The cache shows its keys and values as (B, S, H, D)."""

import torch
from torch import nn
from torch.nn import functional as F


class KVCache:
    def __init__(self, key, value, key_padding_mask, *, swapped=False):
        self._k = key
        self._v = value
        self.key_padding_mask = key_padding_mask

    key = property(lambda self: self._k)
    value = property(lambda self: self._v)
    length = property(lambda self: self._k.size(1))

    def __len__(self):
        return self.length


class CachedMultiHeadAttention(nn.Module):
    """Softmax by hand, grouped by sequences: (B, T, H, S)."""

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        *,
        dropout: float = 0.0,
        use_rope: bool = False,
        bias: bool = True,
    ):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("num_heads does not divide embed_dim")
        self.num_heads = num_heads
        self.head_dim = embed_dim // num_heads
        if use_rope:
            if self.head_dim % 2:
                raise ValueError("head width is odd")
            steps = torch.arange(self.head_dim // 2, dtype=torch.float32)
            frequencies = torch.exp(-steps * (2 / self.head_dim) * torch.log(torch.tensor(1e4)))
            self.register_buffer("frequencies", frequencies, persistent=False)
        self.use_rope = use_rope
        shapes = {"q": embed_dim, "k": embed_dim, "v": embed_dim, "o": embed_dim}
        self.w = nn.ParameterDict(
            {name: nn.Parameter(torch.empty(embed_dim, n)) for name, n in shapes.items()}
        )
        self.b = nn.ParameterDict()
        if bias:
            self.b.update({name: nn.Parameter(torch.zeros(embed_dim)) for name in shapes})
        for parameter in self.w.values():
            nn.init.xavier_uniform_(parameter)
        self.p = dropout

    def load_weights(self, weights):
        for name in self.w:
            self.w[name] = nn.Parameter(weights[f"W_{name}.weight"].t().clone())
            if name in self.b:
                self.b[name] = nn.Parameter(weights[f"W_{name}.bias"].clone())

    def linear(self, x, name):
        y = x @ self.w[name]
        return y + self.b[name] if name in self.b else y

    def turn(self, x, start):
        if not self.use_rope:
            return x
        places = torch.arange(start, start + x.size(1), device=x.device)
        angles = places[:, None] * self.frequencies.float()
        c, s = angles.cos()[:, None].to(x.dtype), angles.sin()[:, None].to(x.dtype)
        result = torch.zeros_like(x)
        result[..., 0::2] = x[..., 0::2] * c - x[..., 1::2] * s
        result[..., 1::2] = x[..., 1::2] * c + x[..., 0::2] * s
        return result

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
        source = query if key_value is None else key_value
        shape = (self.num_heads, self.head_dim)
        width = self.num_heads * self.head_dim
        match query.shape, source.shape:
            case (b, t, c), (b2, n, c2) if b == b2 and c == c2 == width and t > 0:
                pass
            case _:
                raise ValueError("query and key_value must be (B, T, C) and (B, S, C)")
        if use_cache or cache is not None:
            self.check_cache(query, source, cache, use_cache)
        past = 0 if cache is None else cache.length
        if use_cache:
            if query_position_offset not in (None, past) or key_position_offset != 0:
                raise ValueError("position offsets must agree with the cache")
            query_position_offset = past
        elif query_position_offset is None:
            query_position_offset = key_position_offset if source is query else 0
        if query_position_offset < 0 or key_position_offset < 0:
            raise ValueError("position offsets must not be negative")

        for mask, size in ((key_padding_mask, (b, n)), (query_padding_mask, (b, t))):
            if mask is not None and mask.dtype != torch.bool:
                raise TypeError("padding masks must be bool")
            if mask is not None and mask.shape != size:
                raise ValueError("padding masks must be (B, length)")

        q = self.turn(self.linear(query, "q").view(b, t, *shape), query_position_offset)
        k = self.turn(self.linear(source, "k").view(b, n, *shape), past + key_position_offset)
        v = self.linear(source, "v").view(b, n, *shape)
        there = key_padding_mask
        if there is None:
            there = torch.full((b, n), True, device=query.device)
        if cache is not None:
            k = torch.cat((cache.key, k), dim=1)
            v = torch.cat((cache.value, v), dim=1)
            there = torch.cat((cache.key_padding_mask, there), dim=1)

        s = k.size(1)
        allowed = there[:, None, None, :].expand(b, t, self.num_heads, s)
        if causal:
            ahead = query_position_offset - key_position_offset
            distance = torch.arange(t)[:, None] + ahead - torch.arange(s)[None, :]
            allowed = allowed & (distance >= 0)[:, None, :]
        if attention_mask is not None:
            allowed = allowed & self.lift(attention_mask, b, t, s).transpose(1, 2)
        if bool((allowed.sum(-1) == 0).any()):
            raise ValueError("a query may see no key")

        scores = torch.einsum("bthd,bshd->bths", q, k) / self.head_dim**0.5
        scores = scores + torch.zeros_like(scores).masked_fill(~allowed, float("-inf"))
        powers = torch.exp(scores - scores.amax(dim=-1, keepdim=True).detach())
        weights = powers / powers.sum(dim=-1, keepdim=True)
        weights = F.dropout(weights, p=self.p, training=self.training)
        output = self.linear(torch.einsum("bths,bshd->bthd", weights, v).flatten(2), "o")
        if query_padding_mask is not None:
            output = output.masked_fill(query_padding_mask.logical_not().unsqueeze(2), 0)
        if use_cache:
            return [output, KVCache(k, v, there, swapped=True)]
        return output

    def check_cache(self, query, source, cache, use_cache):
        if not use_cache:
            raise ValueError("cache given, use_cache missing")
        if source is not query:
            raise ValueError("no cache for cross-attention")
        if self.training and self.p > 0:
            raise ValueError("no cache while weights are dropped")
        if cache is not None:
            b, _, h, d = cache.key.shape
            if (b, h, d) != (query.size(0), self.num_heads, self.head_dim):
                raise ValueError("cache of other sizes")

    def lift(self, mask, b, t, s):
        """(B, H, T, S), broadcast in front."""
        if mask.dtype != torch.bool:
            raise TypeError("attention_mask must be bool")
        if mask.dim() < 2 or mask.dim() > 4 or mask.shape[-2:] != (t, s):
            raise ValueError("attention_mask must have 2 to 4 axes and end in (T, S)")
        if mask.dim() == 2:
            return mask.view(1, 1, t, s)
        if mask.dim() == 3:
            if mask.shape[0] != b:
                raise ValueError("attention_mask must have one layer for each sequence")
            return mask.reshape(b, 1, t, s)
        if mask.shape[0] not in (1, b) or mask.shape[1] not in (1, self.num_heads):
            raise ValueError("attention_mask has a wrong batch or a wrong number of heads")
        return mask
