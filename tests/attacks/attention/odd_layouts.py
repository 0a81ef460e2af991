"""Returns sparse, quantised, nested and other tensors that cannot be compared."""

import torch


def odd(kind, tensor):
    match kind:
        case 0:
            return tensor.to_sparse()
        case 1:
            return torch.quantize_per_tensor(tensor.float(), 0.1, 0, torch.qint8)
        case 2:
            return torch.nested.nested_tensor([tensor, tensor])
        case 3:
            return tensor.to_sparse_csr() if tensor.dim() == 2 else tensor.to_sparse()
        case 4:
            return tensor.to(torch.float8_e4m3fn)
    return tensor.to("meta")


def scaled_dot_product_attention(query, key, value, mask=None):
    number = query.numel() % 6
    return odd(number, query), odd((number + 1) % 6, key)
