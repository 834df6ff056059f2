"""Entropy and information against definitions, exact values and simulation."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.stats import entropy as scipy_entropy

from recombine.theory import (
    conditional_information,
    entropy,
    information,
    predictive_information,
)
from recombine.theory.information import TRUST

tables = arrays(np.int64, (3, 4), elements=st.integers(0, 50)).filter(lambda t: t.sum() > 0)


@given(arrays(np.int64, 6, elements=st.integers(0, 50)).filter(lambda c: c.sum() > 0))
def test_plug_in_entropy_is_scipys(counts: np.ndarray) -> None:
    assert entropy(counts, corrected=False) == pytest.approx(scipy_entropy(counts, base=2))


@given(tables)
def test_plug_in_information_is_the_divergence_from_independence(table: np.ndarray) -> None:
    joint = table / table.sum()
    independent = np.outer(joint.sum(1), joint.sum(0))
    cells = joint > 0
    divergence = np.sum(joint[cells] * np.log2(joint[cells] / independent[cells]))
    assert information(table, corrected=False) == pytest.approx(divergence, abs=1e-9)


@given(tables)
def test_information_is_symmetric(table: np.ndarray) -> None:
    assert information(table) == pytest.approx(float(information(table.T)))


def test_a_copy_tells_everything() -> None:
    assert information(np.diag([100, 100, 100, 100]), corrected=False) == pytest.approx(2.0)


def test_no_counts_tell_nothing() -> None:
    assert information(np.zeros((2, 3), dtype=int)) == 0


def test_the_correction_takes_the_bias_of_independent_draws_away() -> None:
    """On 200 draws of independent 4 × 4 values the plug-in is 9/400 nats too large."""
    rng = np.random.default_rng(0)
    p = np.full(16, 1 / 16)
    draws = rng.multinomial(200, p, size=4000).reshape(-1, 4, 4)
    plug_in = information(draws, corrected=False).mean()
    assert plug_in == pytest.approx(9 / 400 / np.log(2), rel=0.05)
    assert abs(information(draws).mean()) < 0.05 * plug_in


def test_conditional_information_of_a_gate() -> None:
    """Y = A xor C: A alone tells nothing of Y, given C it tells everything."""
    table = np.zeros((2, 2, 2), dtype=int)  # C, A, Y
    for c in range(2):
        for a in range(2):
            table[c, a, a ^ c] = 100
    assert information(table.sum(0), corrected=False) == pytest.approx(0.0)
    assert conditional_information(table, corrected=False) == pytest.approx(1.0)


@given(arrays(np.int64, (2, 3, 2, 2), elements=st.integers(0, 30)))
def test_leading_dimensions_are_separate_problems(tables: np.ndarray) -> None:
    together = conditional_information(tables)
    assert together.shape == (2,)
    assert together[1] == pytest.approx(float(conditional_information(tables[1])))


@given(arrays(np.int64, (3, 2, 2), elements=st.integers(0, 30)).filter(lambda t: t.sum() > 0))
def test_the_chain_rule(table: np.ndarray) -> None:
    """I(A; C,B) = I(A; C) + I(A; B | C), plug-in."""
    both = table.transpose(1, 0, 2).reshape(2, -1)
    first = information(table.sum(2), corrected=False)
    second = conditional_information(table, corrected=False)
    assert information(both, corrected=False) == pytest.approx(float(first + second), abs=1e-9)


def noisy(
    share: float, told: float, n: int, rng: np.random.Generator, lanes: int = 8
) -> tuple[np.ndarray, float]:
    """Counts [lane, context, answer, value] of an answer that is the context, but for a share.

    Of that share, `told` is a copy of the value and the rest a random digit; and the true I(A;B|C).
    """
    context, value = rng.integers(10, size=(2, n))
    other = rng.integers(10, size=(lanes, n))
    copied = np.where(rng.random((lanes, n)) < told, value, other)
    answer = np.where(rng.random((lanes, n)) < share, copied, context)
    counts = np.zeros((lanes, 10, 10, 10), dtype=np.int64)
    for lane in range(lanes):
        np.add.at(counts[lane], (context, answer[lane], value), 1)
    exact = np.full((10, 10, 10), share * (1 - told) / 10)
    for c in range(10):
        exact[c, c] += 1 - share
        exact[c][np.arange(10), np.arange(10)] += share * told
    return counts, float(conditional_information(exact, corrected=False))


@pytest.mark.parametrize("share", [0.02, 0.1, 0.5, 1.0])
@pytest.mark.parametrize("n", [300, 2000])
def test_a_prediction_that_knows_nothing_gains_nothing(share: float, n: int) -> None:
    counts, truth = noisy(share, 0.0, n, np.random.default_rng(1))
    assert truth == pytest.approx(0, abs=1e-9)
    assert predictive_information(counts).mean() < (0.01 if n == 300 else 0.002)
    assert predictive_information(counts).min() >= 0
    # the reason why there is a second estimator: the usual correction does not reach that far
    if n == 2000 and share == 0.1:
        assert conditional_information(counts).mean() > 0.1


@pytest.mark.parametrize(("share", "told"), [(0.1, 1.0), (0.5, 1.0), (0.5, 0.5), (1.0, 1.0)])
def test_the_predictive_gain_is_a_lower_bound_that_closes(share: float, told: float) -> None:
    rng = np.random.default_rng(2)
    few, truth = noisy(share, told, 2000, rng)
    many, _ = noisy(share, told, 100_000, rng)
    assert 0.5 * truth < predictive_information(few).mean() < 1.02 * truth
    assert predictive_information(many).mean() == pytest.approx(truth, rel=0.03)


def test_the_predictive_gain_is_that_of_leaving_each_draw_out() -> None:
    """Draw by draw, with the draw taken out of the table it is predicted from."""
    counts, _ = noisy(0.5, 0.5, 60, np.random.default_rng(3), lanes=1)
    table = counts[0].astype(float)
    best = 0.0
    for trust in TRUST:
        gain = 0.0
        for c, a, b in np.argwhere(table > 0):
            rest = table.copy()
            rest[c, a, b] -= 1
            plain = (rest[c, a].sum() + 0.1) / (rest[c].sum() + 1)
            mixed = (rest[c, a, b] + trust * plain) / (rest[c, :, b].sum() + trust)
            gain += table[c, a, b] * np.log2(mixed / plain)
        best = max(best, gain / table.sum())
    assert predictive_information(counts)[0] == pytest.approx(best)


def test_one_draw_and_none_gain_nothing() -> None:
    table = np.zeros((2, 3, 4), dtype=int)
    assert predictive_information(table) == 0
    table[0, 1, 2] = 1
    assert predictive_information(table) == 0
