"""The assert works, but its message names a variable that does not exist: NameError instead."""


def split_heads(x, num_heads):
    batch_size, seq_len, embed_dim = x.shape
    assert embed_dim % num_heads == 0, f"width: {embed_dim}, heads: {num_head}"
    return x.view(batch_size, seq_len, num_heads, embed_dim // num_heads).transpose(1, 2)


def merge_heads(x):
    batch_size, num_heads, seq_len, head_dim = x.shape
    return x.transpose(1, 2).reshape(batch_size, seq_len, num_heads * head_dim)
