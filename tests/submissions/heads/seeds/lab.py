"""The lab's two methods as functions. Nothing is wrong."""


def split_heads(x, num_heads):
    batch, length, d_model = x.shape
    if d_model % num_heads:
        raise ValueError("the model width has to be a multiple of the number of heads")
    return x.reshape(batch, length, num_heads, d_model // num_heads).transpose(1, 2)


def merge_heads(x):
    batch, heads, length, head_dim = x.shape
    return x.transpose(1, 2).contiguous().reshape(batch, length, heads * head_dim)
