"""Raises an error that is an instance of every error that a check could want."""


class Every(ValueError, TypeError, AssertionError, IndexError, KeyError, NotImplementedError):
    pass


def scaled_dot_product_attention(query, key, value, mask=None):
    raise Every("a query has no allowed key")
