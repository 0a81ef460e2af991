"""Heads one by one, softmax written out; the model hands its blocks the mask that it makes."""

import torch
from torch import nn


class HeadByHead(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        if width % heads:
            raise ValueError("width is not a multiple of heads")
        self.W_q = nn.Linear(width, width)
        self.W_k = nn.Linear(width, width)
        self.W_v = nn.Linear(width, width)
        self.W_o = nn.Linear(width, width)
        self.size = width // heads
        self.drop = nn.Dropout(dropout)

    def forward(self, x, allowed):
        outputs = []
        for q, k, v in zip(
            self.W_q(x).split(self.size, -1),
            self.W_k(x).split(self.size, -1),
            self.W_v(x).split(self.size, -1),
            strict=True,
        ):
            scores = q.matmul(k.mT) * self.size**-0.5
            scores = torch.where(allowed, scores, torch.finfo(scores.dtype).min)
            powers = (scores - scores.amax(-1, keepdim=True)).exp()
            shares = powers / powers.sum(-1, keepdim=True)
            outputs.append(self.drop(shares).matmul(v))
        return self.W_o(torch.cat(outputs, dim=-1))


class TransformerBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, ffn_dim, dropout=0.0):
        super().__init__()
        self.norm1 = nn.LayerNorm(embed_dim, bias=False)
        self.norm2 = nn.LayerNorm(embed_dim, bias=False)
        self.attention = HeadByHead(embed_dim, num_heads, dropout)
        self.ffn = nn.ModuleDict(
            {"up": nn.Linear(embed_dim, ffn_dim), "down": nn.Linear(ffn_dim, embed_dim)}
        )

    def forward(self, x, mask=None):
        if mask is None:
            mask = causal(x)
        x = x + self.attention(self.norm1(x), mask)
        hidden = torch.tanh(self.ffn["up"](self.norm2(x)))
        return x + self.ffn["down"](hidden)


def causal(x):
    length = x.shape[1]
    return torch.tril(torch.ones((length, length), device=x.device)) == 1


class TransformerLM(nn.Module):
    def __init__(
        self, vocab_size, embed_dim, num_heads, num_layers, ffn_dim, max_length, dropout=0.0
    ):
        super().__init__()
        self.max_length = max_length
        self.token_embedding = nn.Embedding(vocab_size, embed_dim)
        self.position_embedding = nn.Parameter(torch.empty(max_length, embed_dim))
        nn.init.normal_(self.position_embedding)
        self.blocks = nn.ModuleList(
            TransformerBlock(embed_dim, num_heads, ffn_dim, dropout) for _ in range(num_layers)
        )
        self.norm = nn.LayerNorm(embed_dim, bias=False)
        self.head = nn.Linear(embed_dim, vocab_size, bias=False)

    def forward(self, tokens):
        length = tokens.shape[1]
        if length > self.max_length:
            raise ValueError
        x = self.token_embedding(tokens) + self.position_embedding.narrow(0, 0, length)
        mask = causal(x)
        for block in self.blocks:
            x = block(x, mask)
        return self.head(self.norm(x))
