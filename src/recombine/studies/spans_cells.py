"""The cell of `spans`: train a language model on a corpus with long-range rules, decompose it.

After every epoch the same test blocks are decomposed. Phrases of a block are α with the first i
symbols of the conduit, i = 0 … k, and the conduit alone; what is noted is the mean of P(ω | phrase)
in the state before ω is read (the definition) and in the state after it (the original code).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
import torch
from jaxtyping import Float, Int

from recombine.analyses.decomposition import decompose
from recombine.analyses.decomposition_plain import decompose_plainly
from recombine.analyses.decomposition_variant import Variant
from recombine.analyses.recurrent_network import Network, of_lane
from recombine.analyses.replacement import credited, replacement_effects
from recombine.cell import Cell, Context, Outcome
from recombine.errors import BadValue
from recombine.models.language_model import LanguageModel, StackedLanguageModel
from recombine.seeds import stream
from recombine.tasks.spans import Spans
from recombine.training.language import Reader, Reading, read

LANES = 4
"""Seeds a job of small networks; one with this many units or more fills a core by itself."""
LARGE = 100
SETS: tuple[Literal["fresh", "trained"], ...] = ("fresh", "trained")
SHOWN = 4
"""Blocks of which it is kept which words carry the prediction."""


@dataclass(frozen=True)
class SpansRun(Cell):
    """Train on a corpus, and decompose along the way."""

    name: ClassVar[str] = "spans"

    task: Spans
    model: LanguageModel
    reading: Reading
    variant: Variant = Variant()
    """Of the decomposition."""
    along: int = 100
    """Test blocks that are decomposed after every epoch; at the end all are."""
    replaced: int = 200
    """Test blocks on which decomposition is compared with interventions."""
    draws: int = 5
    """Replacements a phrase."""
    keep_weights: bool = False
    """Store the trained parameters with the run."""

    def validate(self) -> None:
        if self.along < 1 or self.replaced < 2 or self.draws < 1:
            counts = (self.along, self.replaced, self.draws)
            raise BadValue("cells/spans along, replaced, draws", counts, "at least 1, 2 and 1")
        self.reading.require(self.task.tokens)

    @property
    def seeds_per_job(self) -> int:
        return 1 if self.model.hidden >= LARGE else LANES

    def run(self, seeds: Sequence[int], context: Context) -> Mapping[int, Outcome]:
        stack = self.model.of_words(seeds, self.task.words).to(context.device)
        text = self.reading.columns(np.stack([self.task.corpus(seed) for seed in seeds]))
        reader = Reader(stack, self.reading, seeds, text.to(context.device))

        def measure(epoch: int) -> Mapping[str, np.ndarray]:
            rows = [self._predictions(of_lane(stack, i), s) for i, s in enumerate(seeds)]
            return {name: np.stack([row[name] for row in rows]) for name in rows[0]}

        curves = read(reader, measure, context)
        return {seed: self._outcome(i, seed, stack, curves) for i, seed in enumerate(seeds)}

    def _predictions(
        self, network: Network, seed: int, blocks: int | None = None
    ) -> dict[str, np.ndarray]:
        """Mean P(ω | phrase) and the network's own P(ω), before and after ω is read."""
        found = {}
        for name in SETS:
            text, opened = self.task.test(seed, name, blocks or self.along)
            phrases, at = self.phrases(opened)
            closing, count = self.task.closing, self.task.conduit + 2
            p = decompose(
                network, torch.from_numpy(text), phrases, at, words=[closing], variant=self.variant
            ).probability[..., 0]
            found[f"p/{name}"] = _mean(p.reshape(-1, count, 2))
            rows = network.rows(torch.from_numpy(text)).transpose(0, 1)
            states = _states(network, rows)[at[::count].T, np.arange(len(text))].transpose(0, 1)
            own = (states @ network.last_weight.T + network.last_bias).softmax(-1)
            found[f"whole/{name}"] = _mean(own[..., closing])
        return found

    def phrases(
        self, opened: Int[np.ndarray, " block"]
    ) -> tuple[Int[np.ndarray, "phrase 3"], Int[np.ndarray, "phrase read"]]:
        """For each block: α, α and 1 … k symbols, the conduit; and the states around ω."""
        k = self.task.conduit
        first = np.array([0] * (k + 1) + [1])
        last = np.array([*range(1, k + 2), k + 1])
        block = np.repeat(np.arange(len(opened)), k + 2)
        begin = opened.repeat(k + 2)
        starts, ends = np.tile(first, len(opened)) + begin, np.tile(last, len(opened)) + begin
        return np.stack([block, starts, ends], 1), np.stack([begin + k, begin + k + 1], 1)

    def _outcome(
        self,
        lane: int,
        seed: int,
        stack: StackedLanguageModel,
        curves: Mapping[str, Mapping[int, np.ndarray]],
    ) -> Outcome:
        network = of_lane(stack, lane)
        arrays = {}
        for name, by_epoch in curves.items():
            arrays[name] = np.stack([values[lane] for values in by_epoch.values()])
            arrays[f"{name}@steps"] = np.array(list(by_epoch))
        last = self._predictions(network, seed, self.task.blocks)
        arrays |= {f"final/{name}": values for name, values in last.items()}
        scalars = {
            "filler": self.task.filler_share,
            **self._identity(network, seed),
            **self._agreement(network, seed),
        }
        if "loss" in curves:
            scalars["loss"] = float(arrays["loss"][-1])
        arrays |= self._carriers(network, seed)
        weights = {n: v[lane].detach().cpu().numpy() for n, v in stack.named_parameters()}
        return Outcome(scalars, arrays, weights if self.keep_weights else {})

    def _carriers(self, network: Network, seed: int) -> dict[str, np.ndarray]:
        """What each word of a few blocks is credited with, in the state before ω."""
        text, opened = self.task.test(seed, "fresh", SHOWN)
        block, word = np.indices(text.shape).reshape(2, -1)
        phrases = np.stack([block, word, word + 1], 1)
        at = opened[block] + self.task.conduit
        given = credited(
            network, torch.from_numpy(text), phrases, at, self.task.closing, variant=self.variant
        )
        return {"carriers/text": text, "carriers/credit": given.reshape(text.shape)}

    def _identity(self, network: Network, seed: int) -> dict[str, float]:
        """The largest |r + q − h| over α, α with its conduit, and the conduit of a block.

        Both parts are propagated on their own, in plain loops, which take time.
        """
        text, opened = self.task.test(seed, "fresh", 1)
        phrases, at = (rows[[0, -2, -1]] for rows in self.phrases(opened))
        errors = {}
        for name, dtype in (("float32", torch.float32), ("float64", torch.float64)):
            exact, worst = network.to(dtype), 0.0
            words = torch.from_numpy(text)
            for (block, first, last), (end, _) in zip(phrases, at, strict=True):
                rows = exact.rows(words[block : block + 1, : end + 1])[0]
                r, q = decompose_plainly(exact, rows, int(first), int(last), self.variant)
                worst = max(worst, float((r + q - _states(exact, rows)).abs().max()))
            errors[f"identity/{name}"] = worst
        return errors

    def _agreement(self, network: Network, seed: int) -> dict[str, float]:
        """Correlation of what decomposition credited phrases with and what replacing them does."""
        text, opened = self.task.test(seed, "fresh", self.replaced)
        phrases, at = self.phrases(opened)
        words, before, count = torch.from_numpy(text), at[:, 0], self.task.conduit + 2
        given = credited(network, words, phrases, before, self.task.closing, variant=self.variant)
        effects = replacement_effects(
            network, words, phrases, before, self.task.closing,
            others=self.task.vocabulary, draws=self.draws, rng=stream(seed, "replacement"),
        )  # fmt: skip
        kinds = given.reshape(-1, count).T, effects.reshape(-1, count).T
        return {
            "agreement/all": _correlation(given, effects),
            "agreement/open": _correlation(kinds[0][0], kinds[1][0]),
            "agreement/conduit": _correlation(kinds[0][-1], kinds[1][-1]),
        }


def _mean(values: torch.Tensor) -> Float[np.ndarray, "*shape"]:
    return np.asarray(values.double().mean(0).numpy())


def _states(
    network: Network, rows: Float[torch.Tensor, "time *batch in"]
) -> Float[torch.Tensor, "time *batch hidden"]:
    """The network's own states of the last layer, by PyTorch's module."""
    n, cell = network.hidden, torch.nn.LSTM if network.cell == "lstm" else torch.nn.GRU
    with torch.device("meta"):
        module = cell(rows.shape[-1], n, num_layers=len(network.layers))
    named: dict[str, torch.Tensor] = {}
    for i, layer in enumerate(network.layers):
        named |= {
            f"weight_ih_l{i}": layer.input_weight,
            f"weight_hh_l{i}": layer.hidden_weight,
            f"bias_ih_l{i}": layer.input_bias,
            f"bias_hh_l{i}": layer.hidden_bias,
        }
    with torch.no_grad():
        states: torch.Tensor = torch.func.functional_call(module, named, (rows,))[0]
    return states


def _correlation(a: np.ndarray, b: np.ndarray) -> float:
    """Pearson's r, undefined where one does not vary."""
    if a.std() == 0 or b.std() == 0:
        return float("nan")
    return float(np.corrcoef(a, b)[0, 1])
