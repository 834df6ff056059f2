"""Ranges and entropies of units whose distribution is known."""

from typing import Literal

import numpy as np
import pytest
from scipy.stats import entropy

from recombine.analyses.activations import BOUNDS, Activations, entropies, ranges, shares
from recombine.analyses.traces import everything, trace
from recombine.errors import BadValue
from recombine.models.seq2seq import Seq2Seq
from recombine.models.transformer import Transformer

RNG = np.random.default_rng(0)


def test_known_distributions() -> None:
    still = np.full(3200, 0.3)
    even = (np.arange(3200) % 32 + 0.5) / 16 - 1
    two = np.where(np.arange(3200) % 2 == 0, -0.99, 0.99)
    values = np.stack([still, even, two], axis=1)
    used = shares(values, (-1.0, 1.0))
    assert entropies(used) == pytest.approx([0.0, 5.0, 1.0])
    assert ranges(values, (-1.0, 1.0)) == pytest.approx([0.0, 31 / 32, 0.99])


def test_entropy_is_scipys_of_numpys_histogram() -> None:
    values = RNG.beta(2, 5, (500, 4))
    used = shares(values, (0.0, 1.0))
    for unit in range(4):
        counts, _ = np.histogram(values[:, unit], bins=32, range=(0, 1))
        assert used[unit] == pytest.approx(counts / 500)
        assert entropies(used)[unit] == pytest.approx(entropy(counts, base=2))


def test_values_at_the_upper_bound_are_counted() -> None:
    assert shares(np.ones((4, 1)), (0.0, 1.0))[0, -1] == 1.0


@pytest.mark.parametrize("cell", ["gru", "lstm"])
def test_every_bounded_site_is_measured_against_its_own_bounds(
    cell: Literal["gru", "lstm"],
) -> None:
    task, _ = Activations().example()
    model = Seq2Seq(cell=cell, embedding=4, hidden=8, output_embedding=8, bound=3.0)
    stack = model.stack([0], task.input_shape, len(task.outputs), task.classes)
    sites = {site.split(".")[-1] for site in stack.sites if site.startswith("decoder.0.")}
    assert sites - set(BOUNDS) == {"combined", "logits"} | ({"memory"} if cell == "lstm" else set())
    for what in sites & set(BOUNDS):
        values = trace(stack, task, everything(task), part="decoder", what=what).values[0]
        found = Activations("decoder", what).measure(stack, task, model)
        wide = 2.0 if what in ("state", "new", "context") else 1.0
        assert values.min() < 0 or wide == 1.0
        assert found[f"activations/decoder.{what}/range"][0] == pytest.approx(
            np.ptp(values, axis=0) / wide
        )


@pytest.mark.parametrize("what", ["memory", "combined", "logits", "candidate"])
def test_what_has_no_bounds_is_refused(what: str) -> None:
    with pytest.raises(BadValue, match="a site whose values have bounds: state, new"):
        Activations(what=what)


def test_states_that_are_not_between_bounds_are_refused() -> None:
    task, _ = Activations().example()
    model = Transformer()
    stack = model.stack([0], task.input_shape, len(task.outputs), task.classes)
    with pytest.raises(BadValue, match=r"encoder.*state of models/transformer.*between -1 and 1"):
        Activations().measure(stack, task, model)
