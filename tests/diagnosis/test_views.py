"""What a card shows of the inside, of theory and of the split, against what is known."""

from __future__ import annotations

import numpy as np
import pytest

from recombine.diagnosis import audited
from recombine.diagnosis.card import VIEWS
from recombine.diagnosis.reading import Reading
from recombine.diagnosis.theory import predicted
from recombine.diagnosis.view import Looked
from recombine.models.attentive import Attentive
from recombine.models.language_model import LanguageModel
from recombine.models.mlp import MLP
from recombine.models.model import Model
from recombine.models.seq2seq import Seq2Seq
from recombine.models.transformer import Transformer
from recombine.tasks.addition import Addition
from recombine.tasks.context import ContextDependence
from recombine.tasks.digit_pairs import DigitPairs
from recombine.tasks.exposure import Invariance
from recombine.tasks.lookup import LookupTables
from recombine.tasks.scan import Scan
from recombine.tasks.scan_grammar import commands
from recombine.tasks.spans import Spans
from recombine.tasks.task import Task
from recombine.theory.salience import complete


def looks(task: Task, model: Model) -> set[str]:
    looked = Looked(task, model, (0, 10))
    return {probe.analysis.name for view in VIEWS for probe in view.probes(looked)}


@pytest.mark.parametrize(
    ("task", "model", "wanted"),
    [
        (ContextDependence(), MLP(), {"dependence", "salience", "additivity"}),
        (LookupTables(), Seq2Seq(hidden=8), {"answer-dependence", "diagnostics", "gates"}),
        (LookupTables(), Transformer(), {"answer-dependence", "diagnostics"}),
        (Scan(), Attentive(), {"answer-dependence", "diagnostics"}),
        (Spans.variants()[0], LanguageModel.variants()[0], {"contribution"}),
    ],
    ids=["vectors", "gru", "transformer", "attentive", "language model"],
)
def test_what_a_model_shows_is_looked_at(task: Task, model: Model, wanted: set[str]) -> None:
    found = looks(task, model)
    assert wanted <= found
    if isinstance(task, LookupTables | Scan):
        assert not found & {"dependence", "salience", "additivity", "contribution"}


def test_theory_of_purely_additive_and_purely_memorizing_layers() -> None:
    """A code of single factors solves invariance; a lookup table knows nothing of new pairs."""
    task = Invariance()
    assert predicted(task, complete(0.5), "test") == 1.0
    assert predicted(task, complete(0.0), "test") == 0.0


def test_theory_is_what_the_audit_predicts_for_the_same_kernel() -> None:
    """An independent road to the same number: the kernel fits of `recombine audit`."""
    task = ContextDependence()
    found = audited.audited(task).prediction
    assert found is not None
    for each in found.predicted:
        if each.fit == "least squares":
            assert predicted(task, each.code.saliences, "test") == pytest.approx(each.right)


def test_a_salience_that_is_no_kernel_predicts_nothing() -> None:
    task = Addition()
    split = next(name for name in task.splits() if name != "train")
    assert predicted(task, np.array([np.nan, np.nan]), split) is None
    assert predicted(task, complete(2.0), split) is None


def test_the_audit_of_sentences_speaks_of_factors_only() -> None:
    found = audited.findings(Scan(split="addprim_jump"))
    assert [each.kind for each in found] == ["unseen"] and "'jump'" in found[0].text
    ids = [table.id for table in audited.tables(Scan(split="addprim_jump"))]
    assert ids == ["split-audit", "split-factors", "split-coverage"]


def test_the_audit_of_classes_leaves_trained_splits_out() -> None:
    """The fresh images of trained pairs are no leak."""
    kinds = {each.kind for each in audited.findings(DigitPairs())}
    assert "leak" not in kinds


def test_a_combination_is_described_by_its_sentence_or_by_its_factors() -> None:
    scan = Scan()
    row = commands().by_text["jump twice and look left"]
    assert Reading(scan).describe(commands().z[row]) == "jump twice and look left"
    said = Reading(ContextDependence()).describe(np.array([0, 1, 2]))
    assert said.startswith("context item 0, feature 1 ")
