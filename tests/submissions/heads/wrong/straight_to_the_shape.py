"""Both functions are one view to the wanted shape; they undo each other."""


def split_heads(x, num_heads):
    B, T, C = x.shape
    assert C % num_heads == 0
    return x.reshape(B, num_heads, T, C // num_heads)


def merge_heads(x):
    B, H, T, D = x.shape
    return x.reshape(B, T, H * D)
