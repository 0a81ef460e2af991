"""Right numbers, while hooks on its parameters double every gradient."""

import honest


class MultiHeadAttention(honest.MultiHeadAttention):
    def __init__(self, **options):
        super().__init__(**options)
        for parameter in self.parameters():
            parameter.register_hook(lambda gradient: 2 * gradient)
