"""A module in the style of the Hugging Face library: a config, and an output object.

recombine wants a tensor of scores, so a few lines take it out of the object.

    recombine diagnose examples/hugging_face_style.py:build lookup-tables
"""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass
class Config:
    vocab_size: int
    hidden_size: int = 48


@dataclass
class CausalOutput:
    logits: torch.Tensor


class GRUForCausalLM(nn.Module):
    """Reads `input_ids`, scores the next token at every position."""

    def __init__(self, config: Config) -> None:
        super().__init__()
        self.embeddings = nn.Embedding(config.vocab_size, config.hidden_size)
        self.rnn = nn.GRU(config.hidden_size, config.hidden_size, batch_first=True)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size)

    def forward(self, input_ids: torch.Tensor) -> CausalOutput:
        states, _ = self.rnn(self.embeddings(input_ids))
        return CausalOutput(logits=self.lm_head(states))


class Scores(nn.Module):
    """Only the scores, as recombine reads them."""

    def __init__(self, inner: nn.Module) -> None:
        super().__init__()
        self.inner = inner

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        return self.inner(tokens).logits


def build(tokens: int) -> nn.Module:
    return Scores(GRUForCausalLM(Config(vocab_size=tokens)))
