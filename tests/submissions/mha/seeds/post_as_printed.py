"""The post's class as it stands there: its line breaks are lost, so the file cannot be read."""

import torch
import torch.nn as nn import torch.nn.functional as F
class MultiHeadAttention(nn.Module): def __init__(self, embed_dim, num_heads): super().__init__()
self.num_heads = num_heads self.width = embed_dim // num_heads
def forward(self, Q, K, V, mask=None): count = Q.shape[0]
return self.W_o(Q), K
