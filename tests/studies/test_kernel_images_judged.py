"""What decides the claims of `kernel` on images: accuracy and slopes on held-out combinations."""

from itertools import product

import numpy as np
import pytest

from recombine.analyses.additivity import rows
from recombine.cell import Outcome
from recombine.conduct import requests
from recombine.studies.kernel import STUDY
from recombine.studies.results import Results, Seeds
from recombine.tasks.addition import SETS, Addition
from recombine.tasks.context import ContextDependence


def test_more_trained_items_and_sums_are_judged_near_and_far() -> None:
    slopes = {"extrapolation": (0.49, 0.5, 0.52), "interpolation": (0.7, 0.69, 0.71)}
    cells: dict[str, Seeds] = {}
    for trained, where in product(slopes, ("near", "far")):
        task = Addition(trained_items=SETS[trained])
        right = task.values[rows(task)[0]].sum(axis=1)
        share = {"additivity/test": np.array([0.97 if where == "near" else 0.3])}
        cells[f"{trained} {where}"] = Seeds(
            {i: Outcome({}, {"answers/mean": m * right[None], **share})
             for i, m in enumerate(slopes[trained])}
        )  # fmt: skip
    results = Results("paper", "as-run", cells)
    near, far = STUDY.part("images-near").judges(), STUDY.part("images-addition").judges()
    for verdict in (near["B5"](results, 0.95), far["B2"](results, 0.95)):
        assert verdict.outcome == "reproduced" and verdict.effect == pytest.approx(0.59 / 3)
    assert near["B6"](results, 0.95).outcome == "reproduced"
    assert far["B3"](results, 0.95).outcome == "contradicted"


def test_a_claim_rests_on_the_seeds_of_its_own_cells() -> None:
    """One network of "interpolation far" is still missing: B1 and B4 do not need it."""
    slopes = {
        "extrapolation far": {0: 0.7, 1: 0.72, 2: 0.71},
        "extrapolation near": {0: 0.5, 1: 0.53, 2: 0.52},
        "interpolation far": {0: 0.8, 2: 0.82},
    }
    cells = {}
    for name, values in slopes.items():
        task = Addition(trained_items=SETS[name.split()[0]])
        right = task.values[rows(task)[0]].sum(axis=1)
        cells[name] = Seeds(
            {
                seed: Outcome(
                    {},
                    {
                        "answers/mean": m * right[None],
                        "additivity/test": np.array([m]),
                        "salience": np.array([[m]]),
                    },
                )
                for seed, m in values.items()
            }
        )
    results = Results("paper", "as-run", cells)
    judges = STUDY.part("images-addition").judges()
    verdicts = {claim: judges[claim](results, 0.95) for claim in ("B1", "B2", "B3", "B4")}
    assert {claim: v.n for claim, v in verdicts.items()} == {"B1": 3, "B2": 2, "B3": 2, "B4": 3}
    assert verdicts["B1"].effect == pytest.approx((0.2 + 0.19 + 0.19) / 3)
    assert verdicts["B2"].effect == pytest.approx((0.1 + 0.11) / 2)
    assert verdicts["B3"].effect == pytest.approx((0.7 + 0.5 + 0.8 + 0.71 + 0.52 + 0.82) / 6)


@pytest.mark.parametrize(
    ("part", "claim", "where"),
    [
        ("images-short", "D4", "near"),
        ("images-beside", "D8", "near"),
        ("images-few", "D10", "far"),
    ],
)
@pytest.mark.parametrize(
    ("three", "one", "outcome"),
    [
        ((0.3, 0.35, 0.4), (0.8, 0.9, 0.85), "reproduced"),
        ((0.8, 0.9, 0.85), (0.3, 0.35, 0.4), "contradicted"),
        ((0.4, 0.3, 0.4), (0.8, 0.45, 0.8), "inconclusive"),
    ],
)
def test_more_left_out_is_judged_by_held_out_accuracy(
    part: str,
    claim: str,
    where: str,
    three: tuple[float, ...],
    one: tuple[float, ...],
    outcome: str,
) -> None:
    cells = {}
    for left_out, shares in ((3, three), (1, one)):
        train = rows(ContextDependence(left_out=left_out))[1]
        # what is trained has an accuracy of 1, and must not count
        tables = [np.where(train, 1.0, share)[None] for share in shares]
        outcomes = {i: Outcome({}, {"answers/accuracy": t}) for i, t in enumerate(tables)}
        cells[f"CD-{left_out} {where}"] = Seeds(outcomes)
    verdict = STUDY.part(part).judges()[claim](Results("paper", "short", cells), 0.95)
    assert verdict.outcome == outcome
    assert verdict.effect == pytest.approx(np.mean(three) - np.mean(one))


@pytest.mark.parametrize(("part", "claim"), [("images-few", "D9"), ("images-context", "D2")])
@pytest.mark.parametrize(
    ("shares", "outcome"),
    [
        ((0.95, 0.9, 0.94), "reproduced"),
        ((0.55, 0.5, 0.54), "contradicted"),
        ((0.95, 0.6, 0.8), "inconclusive"),
    ],
)
def test_few_left_out_is_judged_by_held_out_accuracy(
    part: str, claim: str, shares: tuple[float, ...], outcome: str
) -> None:
    train = rows(ContextDependence(left_out=1))[1]
    tables = [np.where(train, 0.75, share)[None] for share in shares]
    cells = {
        "CD-1 far": Seeds({i: Outcome({}, {"answers/accuracy": t}) for i, t in enumerate(tables)})
    }
    verdict = STUDY.part(part).judges()[claim](Results("paper", "short", cells), 0.95)
    assert verdict.outcome == outcome and verdict.effect == pytest.approx(np.mean(shares))


@pytest.mark.parametrize(
    ("part", "claims"), [("images-apart", "D6 D7"), ("images-context", "D1 D3")]
)
@pytest.mark.parametrize(
    ("far", "near", "outcomes"),
    [
        ((0.2, 0.25, 0.22), (0.4, 0.44, 0.41), ("reproduced", "reproduced")),
        ((0.7, 0.75, 0.72), (0.4, 0.44, 0.41), ("contradicted", "contradicted")),
        ((0.4, 0.44, 0.41), (0.2, 0.6, 0.4), ("reproduced", "inconclusive")),
    ],
)
def test_the_shortcut_is_judged_against_guessing_and_against_images_side_by_side(
    part: str,
    claims: str,
    far: tuple[float, ...],
    near: tuple[float, ...],
    outcomes: tuple[str, str],
) -> None:
    train = rows(ContextDependence(left_out=3))[1]
    cells = {
        name: Seeds(
            {
                # what is trained has an accuracy of 1, and must not count
                i: Outcome({}, {"answers/accuracy": np.where(train, 1.0, share)[None]})
                for i, share in enumerate(shares)
            }
        )
        for name, shares in (("CD-3 far", far), ("CD-3 near", near))
    }
    results = Results("paper", "as-run", cells)
    judges = STUDY.part(part).judges()
    guessing, nearer = (judges[claim](results, 0.95) for claim in claims.split())
    assert (guessing.outcome, nearer.outcome) == outcomes
    assert nearer.effect == pytest.approx(np.mean(far) - np.mean(near))


@pytest.mark.parametrize(
    ("claim", "where", "name"),
    [
        ("D5", "images-beside", "CD-3 near"),
        ("F6", "images-beside", "equivalence near"),
        ("E1", "residual-context", "CD-3"),
    ],
)
@pytest.mark.parametrize(
    ("held_out", "trained", "outcome"),
    [
        ((0.5, 0.45), (0.95, 0.91), "reproduced"),
        ((0.95, 0.91), (0.5, 0.45), "contradicted"),
        ((0.9, 0.5), (0.95, 0.94), "inconclusive"),
    ],
)
def test_new_combinations_are_compared_with_new_images_of_trained_ones(
    claim: str,
    where: str,
    name: str,
    held_out: tuple[float, ...],
    trained: tuple[float, ...],
    outcome: str,
) -> None:
    part = STUDY.part(where)
    cell = requests([f"kernel/{where}"])[0].needs()[name].cell
    train = rows(cell.trial.task)[1]  # type: ignore[attr-defined]
    pairs = zip(held_out, trained, strict=True)
    outcomes = {
        i: Outcome({}, {"answers/accuracy": np.where(train, old, new)[None]})
        for i, (new, old) in enumerate(pairs)
    }
    verdict = part.judges()[claim](Results("paper", "as-run", {name: Seeds(outcomes)}), 0.95)
    assert verdict.outcome == outcome
    assert verdict.effect == pytest.approx(np.mean(held_out) - np.mean(trained))
