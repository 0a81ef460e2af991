"""The split turns each head on its side at once, as keys will be needed."""


def split_heads(x, num_heads):
    B, T, C = x.shape
    if C % num_heads != 0:
        raise ValueError("not divisible")
    return x.transpose(1, 2).reshape(B, num_heads, C // num_heads, T)


def merge_heads(x):
    B, H, T, D = x.shape
    return x.permute(0, 2, 1, 3).reshape(B, T, H * D)
