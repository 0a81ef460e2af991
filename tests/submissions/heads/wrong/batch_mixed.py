"""Splits off the heads in front of the batch and swaps the two afterwards."""


def split_heads(x, num_heads):
    B, T, C = x.shape
    if C % num_heads != 0:
        raise ValueError("not divisible")
    return x.reshape(num_heads, B, T, C // num_heads).transpose(0, 1)


def merge_heads(x):
    B, H, T, D = x.shape
    return x.transpose(1, 2).reshape(B, T, H * D)
