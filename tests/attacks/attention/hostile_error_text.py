"""Raises an error whose every word is an attack: str, repr, class, name, arguments, notes."""

import os


class Meta(type):
    @property
    def __name__(cls):
        os._exit(0)

    def __instancecheck__(cls, thing):
        return True

    def mro(cls):
        return [cls, ValueError, Exception, BaseException, object]


class Hostile(Exception):
    args = property(lambda self: 1 / 0)
    __class__ = property(lambda self: NotImplementedError)
    __traceback__ = property(lambda self: 1 / 0)
    __cause__ = property(lambda self: self)

    def __str__(self):
        while True:
            pass

    __repr__ = __format__ = __str__


def scaled_dot_product_attention(query, key, value, mask=None):
    raise Hostile("x")
