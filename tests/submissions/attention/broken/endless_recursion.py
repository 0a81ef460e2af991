"""Calls itself without an end."""

def scaled_dot_product_attention(query, key, value, mask=None):
    return scaled_dot_product_attention(query, key, value, mask)
