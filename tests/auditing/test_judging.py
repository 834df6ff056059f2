"""What a finding says and advises: noise, ties, and rows that nothing can tell apart."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from factor_tables import SUM, XOR, audited, columns, corner, found
from recombine.auditing.span import least_squares


def test_one_number_for_all_is_told() -> None:
    table = dict(SUM, y=[2.5] * 25)
    assert "All training rows have the label 2.5" in found(audited(table), "imbalance")


def test_noise_so_small_is_a_note_whether_settled_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    table = columns((6, 6, 4), lambda z: z.sum(1) + 1e-5 * rng.normal(size=len(z)), corner((6, 6)))
    settled = audited(table)
    (told,) = [each for each in settled.findings if each.kind == "unlearnable"]
    assert told.weight == "note" and "the last" in told.text and "100" not in told.text
    monkeypatch.setattr(
        "recombine.auditing.conflict.least_squares",
        lambda phi, y: replace(least_squares(phi, y), settled=False),
    )
    hasty = audited(table, order=0, predictions=False)
    assert not hasty.learnable.decision.unexplained
    assert 0 < hasty.learnable.decision.unexplained_at_most < 1e-3
    (told,) = [each for each in hasty.findings if each.kind == "unlearnable"]
    assert told.weight == "note" and "was not settled" in told.text
    assert "is exact on all held-out" in hasty.summary


def test_what_differs_only_in_values_never_trained_on_is_told_apart() -> None:
    table = {
        "id": list(range(12)),
        "a": [0, 1] * 6,
        "y": [0, 1] * 4 + [0, 1, 1, 0],
        "split": ["train"] * 8 + ["test"] * 4,
    }
    (told,) = [each for each in audited(table).findings if each.kind == "unlearnable"]
    assert "Each clash is of two combinations that differ only in values" in told.text
    assert told.advice.startswith("No model can tell apart") and "features" not in told.advice
    (plain,) = [each for each in audited(XOR).findings if each.kind == "unlearnable"]
    assert "differ only" not in plain.text and "changes its features" in plain.advice


def test_ties_are_not_said_to_point_the_other_way() -> None:
    parity = columns((4, 4, 4), lambda z: z.sum(1) % 2, corner((4, 4, 4), (0, 1, 2)))
    done = audited(parity)
    assert done.prediction is not None and done.prediction.never_decided.all()
    (told,) = [each for each in done.findings if each.kind == "misled"]
    assert "On all of them no kernel decides" in told.text and "says nothing" in told.advice
    # training says yes nearly everywhere, and the one held-out cell is a no
    astray = columns((4, 3), lambda z: ~np.isin(z @ [3, 1], [0, 11]), lambda z: (z @ [3, 1]) == 11)
    (told,) = [each for each in audited(astray).findings if each.kind == "misled"]
    assert "no kernel decides" not in told.text and "points the other way" in told.advice
