"""The study `spans`: its cell alone and after a kill, how results are read, which words carry."""

import csv
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from recombine.analyses.recurrent_network import of_module
from recombine.cell import Arrays, Context, Outcome
from recombine.conduct import setting
from recombine.errors import BadValue, Interrupted
from recombine.models.language_model import LanguageModel
from recombine.report import data
from recombine.report.drawing import svg
from recombine.spec import key_of, override
from recombine.studies.carriers import carriers_figure, word_credits
from recombine.studies.results import Results, Seeds
from recombine.studies.spans import STUDY
from recombine.studies.spans_cells import SpansRun
from recombine.studies.spans_length import EXAMPLES, LENGTHS, cell
from recombine.studies.spans_reading import acquired
from recombine.studies.spans_settings import PAPER
from recombine.tasks.spans import Spans
from recombine.training.language import Reading

SMALL = SpansRun(
    Spans(vocabulary=9, conduit=2, rules=30, tokens=600, test_tokens=40, block=8),
    LanguageModel(embedding=8, hidden=8),
    Reading(epochs=2, batch=5, stretch=7),
    along=3,
    replaced=4,
    draws=1,
)


class _Memory:
    kept: Arrays | None = None

    def load(self) -> Arrays | None:
        return self.kept

    def save(self, arrays: Arrays) -> None:
        self.kept = {name: np.array(value) for name, value in arrays.items()}


def _same(a: Outcome, b: Outcome) -> bool:
    return a.scalars == b.scalars and all(
        np.array_equal(values, b.arrays[name]) for name, values in a.arrays.items()
    )


@pytest.mark.parametrize("kind", ["lstm", "gru"])
def test_a_seed_is_the_same_alone_and_after_a_kill(kind: str) -> None:
    run = replace(SMALL, model=LanguageModel(cell=kind, embedding=8, hidden=8, layers=2))  # type: ignore[arg-type]
    together = run.run(range(3), Context())
    assert _same(together[1], run.run([1], Context())[1])
    memory = _Memory()

    def stop(done: int, total: int) -> None:
        if done == 20:
            raise Interrupted

    with pytest.raises(Interrupted):
        run.run([1], Context(progress=stop, checkpoint=memory))
    assert _same(together[1], run.run([1], Context(checkpoint=memory))[1])


def test_what_a_cell_measures() -> None:
    outcome = SMALL.run([0], Context())[0]
    assert outcome.arrays["p/fresh"].shape == (3, 4, 2)  # epochs, phrases, states
    assert outcome.arrays["p/fresh@steps"].tolist() == [0, 1, 2]
    assert outcome.arrays["loss@steps"].tolist() == [1, 2]
    assert outcome.arrays["carriers/credit"].shape == (4, 8)
    assert outcome.scalars["identity/float32"] < 1e-5
    assert outcome.scalars["identity/float64"] < 1e-12
    assert outcome.scalars["filler"] == 0.8
    assert not outcome.weights
    assert replace(SMALL, keep_weights=True).run([0], Context())[0].weights


def test_phrases_are_the_rules_own() -> None:
    phrases, at = SMALL.phrases(np.array([3, 0]))
    assert phrases.tolist() == [
        [0, 3, 4], [0, 3, 5], [0, 3, 6], [0, 4, 6], [1, 0, 1], [1, 0, 2], [1, 0, 3], [1, 1, 3],
    ]  # fmt: skip
    assert at[0].tolist() == [5, 6]


def test_large_models_run_one_a_job() -> None:
    assert (PAPER.seeds_per_job, SMALL.seeds_per_job) == (1, 4)
    with pytest.raises(BadValue, match="at least 1, 2 and 1"):
        replace(SMALL, replaced=1)


def test_keys_at_paper_scale_do_not_drift() -> None:
    """Golden: runs of hours are found under these keys."""
    golden = {
        "counting": {"main": "7986d618accef4fa2de6e577"},
        "predictability": {
            "predictable": "ac66996b1c38cdf5df946a5c",
            "unpredictable": "3aaf3e83b3dbecc41887c9fa",
        },
    }
    for part, keys in golden.items():
        needs = STUDY.part(part).cells(scale="paper", profile="as-printed", seeds=3)
        assert {name: key_of(need.cell) for name, need in needs.items()} == keys


def test_acquired_is_the_first_epoch_half_the_way_up() -> None:
    curve = np.array([[[0.0, 0.5], [0.2, 0.4], [0.6, 0.3], [1.0, 0.2]]])
    found = acquired(curve)
    assert found[0, 0] == 2.0
    assert np.isnan(found[0, 1])  # it never rose


def _length(opened: dict[tuple[int, int], float], conduit: dict[int, float]) -> Results:
    """Results of `length` with these probabilities, the same for three seeds but for a little."""
    cells = {}
    for k in LENGTHS["quick"]:
        for n in EXAMPLES["quick"]:
            p = np.full((k + 2, 2), opened[k, n])
            p[-1] = conduit[k]
            arrays = [{"final/p/fresh": p * (1 + 0.001 * s)} for s in range(3)]
            cells[cell(k, n)] = Seeds({s: Outcome({}, a) for s, a in enumerate(arrays)})
    return Results("quick", "as-printed", cells)


def test_the_judges_tell_a_world_as_published_from_its_opposite() -> None:
    judges = STUDY.part("length").judges()
    few, middle, many = EXAMPLES["quick"]
    level = {few: 0.02, middle: 0.5, many: 0.95}
    opened = {(k, n): level[n] / (k if n == middle else 1) for k in (2, 4, 8) for n in level}
    published = _length(opened, {2: 0.01, 4: 0.005, 8: 0.001})
    turned = {(k, n): level[n] * (k / 8 if n == middle else 1) for k in (2, 4, 8) for n in level}
    turned[2, few] = 0.5
    opposite = _length(turned, {2: 0.001, 4: 0.005, 8: 0.4})
    for name in ("C1", "C2", "C2-declines", "C3"):
        assert judges[name](published, 0.98).outcome == "reproduced", name
    assert judges["C2"](opposite, 0.98).outcome == "contradicted"
    assert judges["C2-declines"](opposite, 0.98).outcome == "contradicted"
    assert judges["C3"](opposite, 0.98).outcome == "contradicted"
    turned[2, few] = 0.02
    assert judges["C1"](_length(turned, {2: 0.1, 4: 0.1, 8: 0.1}), 0.98).outcome == "contradicted"


@pytest.mark.usefixtures("unchecked")
def test_words_that_carry_a_prediction_sum_to_it_where_nothing_interacts() -> None:
    """Gates that stand still and a small cell: single words' credits add up to the whole score."""
    lstm, last, table = nn.LSTM(2, 3), nn.Linear(3, 5, bias=False), nn.Embedding(4, 2)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        for parameter in (*lstm.parameters(), *last.parameters(), *table.parameters()):
            nn.init.uniform_(parameter, -0.5, 0.5)
    lstm.weight_hh_l0.data.zero_()
    for rows in (slice(0, 6), slice(9, 12)):
        lstm.weight_ih_l0.data[rows] = 0.0  # i, f and o do not read
    lstm.weight_ih_l0.data[6:9] *= 0.01  # so that tanh is nearly linear
    lstm.bias_ih_l0.data[6:9], lstm.bias_hh_l0.data[6:9] = 0.0, 0.0
    text = [1, 3, 2, 0, 1]
    credit = word_credits(of_module(lstm, last, table), text, 2)
    with torch.no_grad():
        logits = last(lstm(table(torch.tensor(text))[:, None])[0])[-1, 0]
    assert credit.sum() == pytest.approx(float(logits[2] - logits.mean()), rel=1e-4)
    figure = carriers_figure([(["a", "b", "c", "d", "e"], credit)], "f")
    assert figure.panels[1].marks[0].names[0] == "1 a"  # type: ignore[union-attr]
    wrong: list[tuple[Any, Any, str]] = [
        ([], 2, "at least one word"), ([1.5], 2, "whole numbers"), ("abc", 2, "whole numbers"),
        ([[1]], 2, "at least one word"), ([1], 5, "from 0 to 4"), ([1], -1, "from 0 to 4"),
        ([1], "was", "from 0 to 4"),
    ]  # fmt: skip
    for text, word, message in wrong:
        with pytest.raises(BadValue, match=message):
            word_credits(of_module(lstm, last, table), text, word)


def test_the_map_of_carriers_has_every_credit_in_its_cell() -> None:
    """First sentence on top, words counted back from the prediction, nothing where none stands."""
    sentences = [("abc", np.array([1.0, 0.0, -2.0])), ("d", np.array([0.5]))]
    figure = carriers_figure(sentences, "w")
    (heat,) = figure.panels[0].marks
    written = [
        row for row in csv.DictReader(data.csv(figure).splitlines()) if row["kind"] == "heat"
    ]
    drawn = {(row["y"], row["x"]): row["value"] for row in written}
    assert {place: float(value) for place, value in drawn.items() if value} == {
        ("1", "-3"): 1.0, ("1", "-2"): 0.0, ("1", "-1"): -2.0, ("2", "-1"): 0.5,
    }  # fmt: skip
    assert (heat.low, heat.high) == (-2.0, 2.0)  # type: ignore[union-attr]
    for odd, message in (([], "at least one pair"), ([("ab", np.ones(1))], "2 words, 1 credits")):
        with pytest.raises(BadValue, match=message):
            carriers_figure(odd, "w")  # type: ignore[arg-type]


@pytest.mark.parametrize(("part", "settings"), [
    ("counting", {"task.conduit": "3"}), ("counting", {"task.conduit": "10", "task.block": "20"}),
    ("length", {"task.conduit": "4"}), ("predictability", {"task.conduit": "2"}),
])  # fmt: skip
def test_tables_and_figures_tell_what_was_run(part: str, settings: dict[str, str]) -> None:
    """The conduit of `--set`, not the part's own."""
    chosen, k = STUDY.part(part), int(settings["task.conduit"])
    cells, specs = {}, {}
    for name, need in chosen.cells(scale="quick", profile="as-printed", seeds=1).items():
        changed = override(need.cell, {**dict(map(setting, chosen.smallest)), **settings})
        assert isinstance(changed, SpansRun)
        specs[name], cells[name] = changed, Seeds(changed.run([0], Context()))
    results = Results("quick", "as-printed", cells, specs)
    table = chosen.tables(results)[0]
    if part == "length":
        assert {row[:2] for row in table.rows} == {(k, 20)}
    else:
        assert f"k = {k}" in table.note
    if part == "counting":
        assert [row[1] for row in table.rows[k : k + 2]] == [
            f"α and {k} symbols",
            "the conduit alone",
        ]
    for figure in chosen.figures(results):
        assert svg(figure)
