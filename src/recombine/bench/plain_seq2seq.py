"""The guided GRU as one would write it by hand in PyTorch: what `bench seq2seq` compares with."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class PlainSeq2Seq(nn.Module):
    """Encoder, mlp attention before the decoder's cell, full focus, greedy decoding; batch 1."""

    def __init__(self, words: int, classes: int, hidden: int) -> None:
        super().__init__()
        self.read = nn.Embedding(words, 16)
        self.encoder = nn.GRU(16, hidden, batch_first=True)
        self.say = nn.Embedding(classes, hidden)
        self.align, self.score = nn.Linear(2 * hidden, hidden), nn.Linear(hidden, 1)
        self.focus = nn.Linear(2 * hidden, hidden)
        self.decoder = nn.GRU(hidden, hidden, batch_first=True)
        self.out = nn.Linear(hidden, classes)
        self.classes = classes
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -0.08, 0.08)

    def forward(self, source: Tensor, steps: int) -> tuple[Tensor, Tensor]:
        """Scores of the words and attention, step by step, for one sentence of word numbers."""
        outputs, h = self.encoder(self.read(source).unsqueeze(0))
        word, logits, looks = torch.tensor([self.classes - 1]), [], []
        for _ in range(steps):
            query = h.transpose(0, 1).expand(-1, outputs.shape[1], -1)
            units = torch.relu(self.align(torch.cat([outputs, query], dim=2)))
            weights = F.softmax(self.score(units).squeeze(2), dim=1)
            context = torch.bmm(weights.unsqueeze(1), outputs)
            said = self.say(word).unsqueeze(0)
            x = context * torch.relu(self.focus(torch.cat([context, said], dim=2)))
            output, h = self.decoder(x, h)
            logits.append(self.out(output[:, 0]))
            looks.append(weights)
            word = logits[-1].argmax(1)
        return torch.cat(logits), torch.cat(looks)


def plain_update(
    network: PlainSeq2Seq,
    optimizer: torch.optim.Optimizer,
    inputs: Tensor,
    targets: Tensor,
    wanted: Tensor,
) -> None:
    """One update on one sentence."""
    optimizer.zero_grad()
    logits, looks = network(inputs.argmax(-1), len(targets))
    loss = F.cross_entropy(logits, targets, reduction="sum")
    loss = loss + F.nll_loss(torch.log(looks), wanted, reduction="sum")
    loss.backward()  # type: ignore[no-untyped-call]
    nn.utils.clip_grad_norm_(network.parameters(), 5.0)
    optimizer.step()
