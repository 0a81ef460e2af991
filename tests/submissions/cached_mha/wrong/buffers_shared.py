"""A second continuation of a prompt overwrites the first one's tokens in the shared buffers."""

import torch
from torch import nn


class KVCache:
    """Views of shared buffers. Whoever continues a cache first may write behind its end."""

    def __init__(self, key, value, key_padding_mask):
        batch, heads, length, width = key.shape
        room = max(8, 2 * length)
        self._key = key.new_empty(batch, heads, room, width)
        self._value = value.new_empty(batch, heads, room, width)
        self._mask = torch.zeros(batch, room, dtype=torch.bool, device=key.device)
        self._key[:, :, :length] = key.detach()
        self._value[:, :, :length] = value.detach()
        self._mask[:, :length] = key_padding_mask
        self._used = [length]
        self.length = length

    @property
    def key(self):
        return self._key[:, :, : self.length]

    @property
    def value(self):
        return self._value[:, :, : self.length]

    @property
    def key_padding_mask(self):
        return self._mask[:, : self.length]

    @torch.no_grad()
    def extended(self, key, value, mask):
        """A cache with these tokens appended; this one shows what it showed before."""
        stop = self.length + key.shape[2]
        if stop > self._key.shape[2]:
            return KVCache(
                torch.cat((self.key, key), 2),
                torch.cat((self.value, value), 2),
                torch.cat((self.key_padding_mask, mask), 1),
            )
        self._key[:, :, self.length : stop] = key
        self._value[:, :, self.length : stop] = value
        self._mask[:, self.length : stop] = mask
        self._used[0] = stop
        longer = object.__new__(KVCache)
        longer.__dict__.update(self.__dict__, length=stop)
        return longer


class Rotary(nn.Module):
    """Keeps a table of angles that grows when a later position is asked for."""

    def __init__(self, width):
        super().__init__()
        self.width = width
        self.table = None

    def forward(self, x, start):
        stop = start + x.shape[-2]
        if self.table is None or len(self.table) < stop:
            exponents = torch.arange(self.width // 2, dtype=torch.float64) * 2 / self.width
            places = torch.arange(2 * stop, dtype=torch.float64)
            angles = places[:, None] / 10000**exponents
            self.table = torch.stack((angles.cos(), angles.sin()), -1)
        cos, sin = self.table[start:stop].to(x.dtype).unbind(-1)
        pairs = x.reshape(*x.shape[:-1], self.width // 2, 2)
        first, second = pairs.unbind(-1)
        return torch.stack((first * cos - second * sin, second * cos + first * sin), -1).flatten(-2)


def require(condition, words, error=ValueError):
    if not condition:
        raise error(words)


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, *, dropout=0.0, use_rope=False, bias=True):
        super().__init__()
        require(embed_dim % num_heads == 0, "embed_dim must be a multiple of num_heads")
        width = embed_dim // num_heads
        require(not use_rope or width % 2 == 0, "RoPE needs an even head width")
        self.sizes = (num_heads, width)
        for name in ("W_q", "W_k", "W_v", "W_o"):
            self.add_module(name, nn.Linear(embed_dim, embed_dim, bias=bias))
        self.weights_dropout = nn.Dropout(dropout)
        self.output_dropout = nn.Dropout(dropout)
        self.rotary = Rotary(width) if use_rope else None

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
        heads, width = self.sizes
        is_self = key_value is None or key_value is query
        source = query if key_value is None else key_value
        for tokens in (query, source):
            require(tokens.dim() == 3, "tokens have three axes")
            require(tokens.shape[2] == heads * width, "tokens have embed_dim columns")
        require(source.shape[0] == query.shape[0], "query and key_value differ in batch")
        require(query.shape[1] > 0, "there is no query")
        batch, queries = query.shape[:2]
        if cache is not None:
            require(use_cache, "a cache goes with use_cache")
            held = cache.key.shape
            require((held[0], held[1], held[3]) == (batch, heads, width), "the cache does not fit")
        begin = 0 if cache is None else cache.length
        if use_cache:
            require(is_self, "cross-attention cannot be cached")
            require(not (self.training and self.weights_dropout.p > 0), "call eval() first")
            require(key_position_offset == 0, "cached keys begin at 0")
            require(query_position_offset in (None, begin), "queries follow the cached keys")
        q_begin = query_position_offset
        if q_begin is None:
            q_begin = begin + key_position_offset if is_self else 0
        require(q_begin >= 0 and key_position_offset >= 0, "positions are not negative")

        mask = torch.ones(source.shape[:2], dtype=torch.bool, device=query.device)
        if key_padding_mask is not None:
            mask = self.padding(key_padding_mask, source)
        if query_padding_mask is not None:
            query_padding_mask = self.padding(query_padding_mask, query)

        q, k, v = (
            layer(x).view(batch, -1, heads, width).transpose(1, 2)
            for layer, x in ((self.W_q, query), (self.W_k, source), (self.W_v, source))
        )
        if self.rotary is not None:
            q, k = self.rotary(q, q_begin), self.rotary(k, begin + key_position_offset)
        if use_cache:
            cache = KVCache(k, v, mask) if cache is None else cache.extended(k, v, mask)
            k, v, mask = cache.key, cache.value, cache.key_padding_mask

        keys = k.shape[2]
        allowed = mask[:, None, None]
        if causal:
            # tril's diagonal says how many positions the first query is ahead of the first key.
            ahead = q_begin - key_position_offset
            triangle = torch.ones(queries, keys, dtype=torch.bool, device=query.device).tril(ahead)
            allowed = torch.logical_and(allowed, triangle)
        if attention_mask is not None:
            require(attention_mask.dtype == torch.bool, "attention_mask is not bool", TypeError)
            shape = (queries, keys)
            if attention_mask.dim() == 3:
                require(attention_mask.shape == (batch, *shape), "attention_mask is not (B, T, S)")
                attention_mask = attention_mask.unsqueeze(1)
            elif attention_mask.dim() == 4:
                front = attention_mask.shape[:2]
                require(front[0] in (1, batch) and front[1] in (1, heads), "attention_mask")
            else:
                require(attention_mask.dim() == 2, "attention_mask has 2, 3 or 4 axes")
            require(attention_mask.shape[-2:] == shape, "attention_mask does not end in (T, S)")
            allowed = torch.logical_and(allowed, attention_mask)
        counts = allowed.expand(batch, heads, queries, keys).sum(dim=-1)
        require(bool((counts > 0).all()), "some query has no key")

        scores = torch.matmul(q * width**-0.5, k.transpose(2, 3))
        scores = torch.where(allowed, scores, torch.finfo(scores.dtype).min)
        weights = self.weights_dropout(scores.softmax(dim=3))
        context = torch.matmul(weights, v).permute(0, 2, 1, 3).reshape(batch, queries, -1)
        output = self.output_dropout(self.W_o(context))
        if query_padding_mask is not None:
            output = output * query_padding_mask.unsqueeze(-1)
        return (output, cache) if use_cache else output

    @staticmethod
    def padding(mask, tokens):
        require(mask.dtype == torch.bool, "padding masks are bool", TypeError)
        require(mask.shape == tokens.shape[:2], "a padding mask has one entry a token")
        return mask
