"""The article's head width: a true division, so that view gets a float."""


def split_heads(x, num_heads):
    assert x.shape[-1] % num_heads == 0, f"embed_dim: {x.shape[-1]}, num_heads: {num_heads}"
    head_dim = x.shape[-1] / num_heads
    batch_size, seq_len, _ = x.shape
    return x.view(batch_size, seq_len, num_heads, head_dim).transpose(1, 2)


def merge_heads(x):
    batch_size, num_heads, seq_len, head_dim = x.shape
    return x.transpose(1, 2).reshape(batch_size, seq_len, num_heads * head_dim)
