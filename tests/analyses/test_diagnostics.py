"""Probes at the sites of a recurrent network whose functional groups are known."""

import numpy as np
import pytest

from known_network import TABLE_UNITS, TIME_UNIT, Known
from recombine.analyses.activations import Activations
from recombine.analyses.diagnostics import Diagnostics
from recombine.analyses.gates import Gates
from recombine.analyses.traces import everything, trace, words_like
from recombine.errors import BadValue, UnknownName
from recombine.models.mlp import MLP
from recombine.models.seq2seq import Seq2Seq
from recombine.tasks.corners import Corners
from recombine.tasks.lookup import LookupTables

TASK = LookupTables()
MODEL = Seq2Seq(hidden=8, embedding=4, output_embedding=8)


def group(places: np.ndarray) -> set[int]:
    return set(np.flatnonzero(places).tolist())


@pytest.mark.parametrize("variant", ["honest", "as-run"])
def test_the_units_that_spell_the_table_are_found_exactly(variant: str) -> None:
    probe = Diagnostics(words="t*", variant=variant, folds=4)  # type: ignore[arg-type]
    found = probe.measure(Known(TASK), TASK, MODEL)
    for lane in range(2):
        expected = {unit + lane for unit in TABLE_UNITS}
        assert group(found[f"{probe.called}/group"][lane]) == expected
        assert found[f"{probe.called}/accuracy"][lane] > 0.99
        assert found[f"{probe.called}/units"][lane] == 3


def test_the_unit_that_tells_the_time_is_found() -> None:
    probe = Diagnostics(reads="time", folds=3)
    found = probe.measure(Known(TASK), TASK, MODEL)
    assert group(found[f"{probe.called}/group"][0]) == {TIME_UNIT}


def test_samples_are_the_words_there_are_and_copies_have_one_number() -> None:
    stack = Known(TASK)
    found = trace(stack, TASK, everything(TASK), part="encoder", what="state")
    tables = found.where(np.isin(found.word, words_like(TASK, "t*")))
    assert len(found.word) == 64 * 3 + 512 * 4
    assert len(tables.word) == 64 + 2 * 512
    first = tables.where(tables.time == 1)
    assert len(first.word) == 576 and len(np.unique(first.prefix)) == 64
    for number in np.unique(found.prefix)[::37]:
        alike = found.values[:, found.prefix == number]
        assert np.ptp(alike, axis=1).max() < 1e-6


def test_the_decoder_reads_where_it_should_attend() -> None:
    stack = MODEL.stack([0], TASK.input_shape, len(TASK.outputs), TASK.classes)
    found = trace(stack, TASK, everything(TASK), part="decoder", what="update")
    assert len(found.word) == 64 * 2 + 512 * 3
    words = np.array(TASK.source_words)[found.word]
    assert all((word[0] == "t") == (t > 0) for word, t in zip(words, found.time, strict=True))
    assert len(np.unique(found.prefix)) == len(found.prefix), "every state is one of its own"


def test_the_traced_values_are_those_of_a_single_sentence() -> None:
    stack = MODEL.stack([0, 1], TASK.input_shape, len(TASK.outputs), TASK.classes)
    every = everything(TASK)
    whole = trace(stack, TASK, every, part="decoder", what="state")
    one = TASK.show(every.z[100:101], every.noise[100:101])
    alone = trace(stack, TASK, one, part="decoder", what="state")
    assert np.allclose(whole.values[:, whole.example == 100], alone.values, atol=1e-6)


def test_gates_and_activations_of_the_known_network() -> None:
    gates = Gates().measure(Known(TASK), TASK, MODEL)
    first = 576 / (64 * 3 + 512 * 4)
    assert gates["gates/encoder.update/overwritten"] == pytest.approx(np.full((2, 40), first))
    assert gates["gates/encoder.update/kept"] == pytest.approx(np.full((2, 40), 1 - first))
    assert gates["gates/encoder.update/switching"].tolist() == [1.0, 1.0]
    printed = Gates(convention="printed").measure(Known(TASK), TASK, MODEL)
    assert printed["gates/encoder.update/kept"] == pytest.approx(np.full((2, 40), first))
    used = Activations().measure(Known(TASK), TASK, MODEL)
    assert used["activations/encoder.state/range"][0, TIME_UNIT] == pytest.approx(0.75 / 2)


def test_what_has_no_such_sites_or_words_is_refused() -> None:
    corners, mlp = Corners(), MLP()
    plain = mlp.stack([0], corners.input_shape, 2, 2)
    with pytest.raises(BadValue):
        Diagnostics().measure(plain, corners, mlp)
    with pytest.raises(UnknownName, match="encoder"):
        Gates(gate="forget").measure(Known(TASK), TASK, MODEL)
    with pytest.raises(UnknownName):
        Diagnostics(words="x*").measure(Known(TASK), TASK, MODEL)
    with pytest.raises(BadValue):
        Diagnostics(folds=2)
