"""A loader of weights that raises, hangs or ends the process, each time another."""

import os

import honest


class MultiHeadAttention(honest.MultiHeadAttention):
    def load_weights(self, weights):
        match len(weights["W_q.weight"]) % 3:
            case 0:
                raise KeyboardInterrupt
            case 1:
                os._exit(0)
        while True:
            pass
