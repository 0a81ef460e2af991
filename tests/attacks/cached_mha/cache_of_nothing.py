"""Returns a cache that has no attributes, or one that makes them up, endlessly nested."""

import honest

KVCache = honest.KVCache


class Nothing:
    def __getattr__(self, name):
        return Nothing()

    def __iter__(self):
        while True:
            yield self


class CachedMultiHeadAttention(honest.CachedMultiHeadAttention):
    def forward(self, *given, use_cache=False, cache=None, **named):
        output = super().forward(*given, **named)
        return (output, Nothing()) if use_cache else output
