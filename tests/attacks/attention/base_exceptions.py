"""Raises what is no Exception: GeneratorExit, KeyboardInterrupt, a group, a class of its own."""


class Mine(BaseException):
    pass


KINDS = [
    GeneratorExit(),
    KeyboardInterrupt(),
    Mine(),
    BaseExceptionGroup("x", [KeyboardInterrupt()]),
]


def scaled_dot_product_attention(query, key, value, mask=None):
    raise KINDS[query.numel() % len(KINDS)]
