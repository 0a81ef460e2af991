"""The article's assert as printed: its message stands on a line of its own, which is no Python."""


def split_heads(x, num_heads):
    batch_size, seq_len, embed_dim = x.shape
    assert embed_dim % num_heads == 0,
        f"embed_dim is not divisible by num_heads: {embed_dim}, {num_head}"
    head_dim = embed_dim / num_heads
    return x.view(batch_size, seq_len, num_heads, head_dim).transpose(1, 2)


def merge_heads(x):
    batch_size, num_heads, seq_len, head_dim = x.shape
    return x.transpose(1, 2).reshape(batch_size, seq_len, num_heads * head_dim)
