"""Takes memory by every road: the heap, anonymous maps, tensors, a very long integer."""

import mmap

import torch
from honest import scaled_dot_product_attention
from targets import LIMIT, attempt

attempt("bytes", lambda: len(bytearray(LIMIT)))
attempt("map", lambda: len(mmap.mmap(-1, LIMIT)))
attempt("shared map", lambda: len(mmap.mmap(-1, LIMIT, mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)))
attempt("tensor", lambda: torch.zeros(LIMIT, dtype=torch.uint8).sum())
attempt("list", lambda: len([None] * LIMIT))
attempt("string", lambda: len("x" * LIMIT))
