"""An autograder for attention components in PyTorch."""

__version__ = "0.1.0"
