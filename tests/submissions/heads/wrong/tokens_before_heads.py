"""Nothing is transposed: (B, T, H, D) comes out of the split and is what the merge expects."""


def split_heads(x, num_heads):
    B, T, C = x.shape
    if C % num_heads != 0:
        raise ValueError("not divisible")
    return x.reshape(B, T, num_heads, C // num_heads)


def merge_heads(x):
    return x.flatten(2)
