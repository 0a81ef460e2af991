"""A slice of columns for each head, written into an empty result, and copied back."""


def split_heads(x, num_heads):
    batch, length, width = x.shape
    d = width // num_heads
    if d * num_heads != width:
        raise ValueError("the heads do not get equal shares")
    heads = x.new_empty(batch, num_heads, length, d)
    for h in range(num_heads):
        heads[:, h] = x[:, :, h * d : (h + 1) * d]
    return heads


def merge_heads(x):
    batch, num_heads, length, d = x.shape
    merged = x.new_empty(batch, length, num_heads * d)
    for h in range(num_heads):
        merged[..., h * d : (h + 1) * d] = x[:, h]
    return merged
