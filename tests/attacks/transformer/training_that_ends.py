"""Ends, hangs or raises in the middle of the training."""

import os

import honest

TransformerBlock = honest.TransformerBlock
COUNT = 0


class TransformerLM(honest.TransformerLM):
    def forward(self, tokens):
        global COUNT
        COUNT += 1
        if COUNT == 30:
            os._exit(0)
        if COUNT == 20:
            raise KeyboardInterrupt
        return super().forward(tokens)
