"""A small language model. Fill in both classes; README.md says what they have to do."""

import torch
from torch import nn


class TransformerBlock(nn.Module):
    """One pre-norm block: x + attention(norm1(x)), and then the same with norm2 and ffn.

    Its parts are called norm1, attention, norm2 and ffn.
    """

    def __init__(self, embed_dim: int, num_heads: int, ffn_dim: int, dropout: float = 0.0) -> None:
        """Make the four parts; embed_dim is C, num_heads is H, ffn_dim is the hidden width of ffn.

        Raises:
            ValueError or AssertionError: if embed_dim is not a multiple of num_heads.
        """
        raise NotImplementedError

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Let every token look at the tokens it may see, and then think by itself.

        Shapes:
            x: (B, T, C)
            mask: (T, T) bool, True means allowed; None means causal

        Returns:
            output: (B, T, C)
        """
        raise NotImplementedError


class TransformerLM(nn.Module):
    """Tokens in, logits for each next token out.

    Its parts are called token_embedding, position_embedding, blocks, norm and head.
    """

    def __init__(
        self,
        vocab_size: int,
        embed_dim: int,
        num_heads: int,
        num_layers: int,
        ffn_dim: int,
        max_length: int,
        dropout: float = 0.0,
    ) -> None:
        """Make the parts; blocks holds num_layers blocks, position_embedding max_length rows."""
        raise NotImplementedError

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Score every token of the vocabulary as the next one, after each token.

        Shapes:
            tokens: (B, T) int64

        Returns:
            logits: (B, T, vocab_size)

        Raises:
            ValueError: if T is greater than max_length.
        """
        raise NotImplementedError
