"""Returns, where nothing is declared, whatever a check might choke on."""

import honest

KVCache = honest.KVCache
COUNT = 0


class CachedMultiHeadAttention(honest.CachedMultiHeadAttention):
    def forward(self, query, *given, **named):
        global COUNT
        COUNT += 1
        return [
            None, 7, "text", [], {}, (), (query,), [query, None], {"output": query}, object(),
            float("nan"), query.bool(), query[:0], (query, 3), (None, None), range(3), print,
        ][COUNT % 17]  # fmt: skip
