"""Raises an error whose message is ten million characters long."""

def scaled_dot_product_attention(query, key, value, mask=None):
    raise RuntimeError("no " * 3_333_333)
