"""Keeps caches and handles beyond their check, and answers with those of an earlier one."""

import honest

KVCache = honest.KVCache
KEPT = []


class CachedMultiHeadAttention(honest.CachedMultiHeadAttention):
    def forward(self, *given, use_cache=False, **named):
        result = super().forward(*given, use_cache=use_cache, **named)
        if use_cache:
            KEPT.append(result[1])
            return result[0], KEPT[0]
        return result
