"""Loads a library and an extension of its own making, and compiles one with torch."""

import ctypes
import os
import tempfile

import torch
from honest import scaled_dot_product_attention
from targets import FOLDER, attempt

attempt("library", lambda: ctypes.CDLL(f"{FOLDER}/evil.so"))
attempt("ops", lambda: torch.ops.load_library(f"{FOLDER}/evil.so"))
attempt("compile", lambda: torch.utils.cpp_extension.load_inline("evil", "int x;"))
attempt("temporary", tempfile.mkdtemp)
attempt("save", lambda: torch.save({}, f"{FOLDER}/evil.pt"))
attempt("hub", lambda: torch.hub.load("pytorch/vision", "resnet18"))
attempt("dev", lambda: os.open("/dev/mem", os.O_RDONLY))
