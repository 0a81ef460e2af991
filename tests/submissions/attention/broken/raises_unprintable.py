"""Raises an error that raises again when it is turned into text."""

class Riddle(Exception):
    def __str__(self):
        raise RuntimeError("no words for it")

    __repr__ = __str__


def scaled_dot_product_attention(query, key, value, mask=None):
    raise Riddle
