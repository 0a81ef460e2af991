"""Raises KeyboardInterrupt when called."""

def scaled_dot_product_attention(query, key, value, mask=None):
    raise KeyboardInterrupt
