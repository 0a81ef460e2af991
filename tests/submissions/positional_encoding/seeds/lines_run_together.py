"""The article's function as its page shows it: line breaks are lost."""

import math import torch


def positional_encoding(seq_len, embed_dim): pe = torch.zeros(seq_len, embed_dim)
pos = torch.arange(seq_len).unsqueeze(1) rate = torch.exp(torch.arange(0, embed_dim, 2))
return pe
