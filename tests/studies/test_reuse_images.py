"""The image cell keeps its promises; the judges of `reuse/images` decide results made by hand."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from recombine import catalog
from recombine.cell import Arrays, Context, Outcome
from recombine.errors import BadValue, Interrupted, NoData
from recombine.studies import Results, Seeds, find
from recombine.studies.reuse_images import (
    ImagesPart,
    after_beats_together,
    fewer_directions,
    rescaling_helps,
)
from recombine.studies.reuse_images_cell import ImageReuse, load

CELL = ImageReuse(widths=(4,), samples=(10,), steps=12, pretrain_steps=12, aux_samples=200)


class _Shelf:
    def __init__(self) -> None:
        self.held: Arrays | None = None

    def load(self) -> Arrays | None:
        return self.held

    def save(self, arrays: Arrays) -> None:
        self.held = {name: np.array(value) for name, value in arrays.items()}


def same(a: Outcome, b: Outcome) -> None:
    np.testing.assert_equal(dict(a.scalars), dict(b.scalars))
    np.testing.assert_equal(dict(a.arrays), dict(b.arrays))


def test_a_seed_has_the_same_bits_in_company_and_after_a_kill() -> None:
    together = CELL.run([0, 1], Context())
    shelf, calls = _Shelf(), 0

    def strike(done: int, total: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 3:  # fresh, pretraining, and then this
            raise Interrupted("asked to stop")

    with pytest.raises(Interrupted):
        CELL.run([1], Context(progress=strike, checkpoint=shelf))
    assert shelf.held is not None and "error/stl/10" in shelf.held
    same(CELL.run([1], Context(checkpoint=shelf))[1], together[1])


def test_the_two_tasks_have_their_own_classes() -> None:
    main, aux, test = load("small", 3)
    assert set(main[1].tolist()) == {0, 1} == set(test[1].tolist())
    assert set(aux[1].tolist()) == set(range(8))
    assert len(main[1]) + len(aux[1]) == 1400


def test_what_cannot_work_is_refused(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for wrong in ({"widths": ()}, {"samples": (1,)}, {"rescalings": (0.5,)}):
        with pytest.raises(BadValue):
            replace(CELL, **wrong)  # type: ignore[arg-type]
    monkeypatch.setenv("RECOMBINE_DATA", str(tmp_path))
    with pytest.raises(NoData, match="recombine data get cifar10"):
        replace(CELL, source="cifar10").ready()


def results(mtl: float, plain: float, small: float, pr: float) -> Results:
    """Errors of three methods, and by how much the participation ratio falls."""
    noise = np.linspace(-0.002, 0.002, 6)
    methods = {"stl": (0.4, 3.0), "mtl": (mtl, 3.0), "ptft-1": (plain, 3.0)}
    methods["ptft-0.25"] = (small, 3.0 - pr)
    outcomes = {}
    for seed, extra in enumerate(noise):
        arrays = {"samples": np.array([10, 40])}
        for name, (error, ratio) in methods.items():
            wobble = extra if name == "ptft-1" else 0.0
            arrays |= {f"{kind}/{name}": np.full(2, error + wobble) for kind in ("error", "loss")}
            arrays |= {f"{kind}/{name}": np.full(2, ratio + wobble) for kind in ("pr", "ensd")}
        outcomes[seed] = Outcome({"pr/pretrained": 3.0}, arrays)
    return Results("quick", "reduced", {"images": Seeds(outcomes)}, {"images": CELL})


def test_claims_are_judged_as_the_rules_say() -> None:
    good, bad = results(0.3, 0.2, 0.1, 1.0), results(0.1, 0.2, 0.3, -1.0)
    for judge in (after_beats_together, rescaling_helps, fewer_directions):
        assert judge(good, 0.98).outcome == "reproduced"
        assert judge(bad, 0.98).outcome == "contradicted"
    study = catalog.find("studies", "reuse")
    finding = find(study, ImagesPart(), good, command="x", made_with={})
    assert finding.tables and finding.figures and len(finding.claims) == 3


def test_tables_and_figures_tell_what_was_run() -> None:
    ran = replace(CELL, widths=(4, 6, 8), rescalings=(1.0, 0.5))
    other = results(0.3, 0.2, 0.1, 1.0)
    each = other["images"].outcomes
    arrays = {s: {n.replace("ptft-0.25", "ptft-0.5"): v for n, v in o.arrays.items()}
              for s, o in each.items()}  # fmt: skip
    seeds = Seeds({s: Outcome(o.scalars, arrays[s]) for s, o in each.items()})
    changed = Results("paper", "reduced", {"images": seeds}, {"images": ran})
    (table,) = ImagesPart().tables(changed)
    assert "8 × 8 digits, two against eight classes, blocks of 4, 6, 8 channels" in table.note
    assert {row[0] for row in table.rows} >= {"finetuning, c = 0.5"}
    (figure,) = ImagesPart().figures(changed)
    assert "4, 6, 8" in figure.caption
