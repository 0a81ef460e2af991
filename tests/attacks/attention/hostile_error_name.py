"""Raises errors of classes whose name and bases are not what they seem, or raise when read."""

import sys


class Name(str):
    def __str__(self):
        raise KeyboardInterrupt

    __getitem__ = encode = __len__ = __str__


class Meta(type):
    def __getattribute__(cls, name):
        if name in ("__name__", "__mro__", "__qualname__"):
            raise SystemExit(0)
        return super().__getattribute__(name)


class Hostile(ValueError, metaclass=Meta):
    pass


sys.tracebacklimit = 0


def scaled_dot_product_attention(query, key, value, mask=None):
    raise Hostile(Name("x"))
