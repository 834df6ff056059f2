"""torch.nn.Transformer as it is, made into a sequence model by embeddings and a readout.

recombine diagnose examples/own_transformer.py:build lookup-tables
"""

import torch
from torch import nn


class Translator(nn.Module):
    """Source words and the words so far, both as numbers with 0 for padding and start."""

    def __init__(self, words: int, classes: int, outputs: int, width: int = 32) -> None:
        super().__init__()
        self.source = nn.Embedding(words + 1, width, padding_idx=0)
        self.target = nn.Embedding(classes + 1, width)
        self.place = nn.Parameter(torch.randn(256, width) * 0.1)
        self.body = nn.Transformer(
            width, nhead=4, num_encoder_layers=1, num_decoder_layers=1,
            dim_feedforward=64, dropout=0.0, batch_first=True,
        )  # fmt: skip
        self.readout = nn.Linear(width, classes)

    def forward(self, source: torch.Tensor, words: torch.Tensor) -> torch.Tensor:
        padding = source == 0
        steps = words.shape[1]
        later = torch.ones(steps, steps, dtype=torch.bool).triu(1)  # no looking ahead
        states = self.body(
            self.source(source) + self.place[: source.shape[1]],
            self.target(words) + self.place[:steps],
            tgt_mask=later,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        return self.readout(states)


def build(words: int, classes: int, outputs: int) -> nn.Module:
    return Translator(words, classes, outputs)
