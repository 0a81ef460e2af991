"""An autograder for attention components written in PyTorch."""

__version__ = "0.1.0"
