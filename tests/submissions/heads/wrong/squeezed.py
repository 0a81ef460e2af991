"""squeeze() at the end "to tidy up"."""


def split_heads(x, num_heads):
    B, T, C = x.shape
    if C % num_heads != 0:
        raise ValueError("not divisible")
    return x.reshape(B, T, num_heads, C // num_heads).transpose(1, 2).squeeze()


def merge_heads(x):
    B, H, T, D = x.shape
    return x.transpose(1, 2).reshape(B, T, H * D).squeeze()
