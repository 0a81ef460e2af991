"""transpose and then view, which works only on what split_heads has just made."""


def split_heads(x, num_heads):
    B, T, C = x.shape
    if C % num_heads != 0:
        raise ValueError("not divisible")
    return x.view(B, T, num_heads, C // num_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, D = x.shape
    return x.transpose(1, 2).view(B, T, H * D)
