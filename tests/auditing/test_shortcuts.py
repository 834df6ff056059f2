"""Rules that see one factor or pair, against a loop over rows."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from factor_tables import audited, columns, corner, kinds
from recombine.auditing.factored import Asked, Factored, factored
from recombine.auditing.shortcuts import Rule, rules


def table(seed: int, *, numbers: bool = False) -> Factored:
    rng = np.random.default_rng(seed)
    n = 60
    made = {
        name: rng.integers(0, size, n).tolist() for name, size in zip("abc", (2, 3, 5), strict=True)
    }
    y = rng.normal(size=n) + np.array(made["a"]) if numbers else rng.integers(0, 3, n)
    test = rng.random(n) < 0.4
    made |= {"y": y.tolist(), "split": np.where(test, "test", "train").tolist()}
    return factored(made, Asked(label="y", split="split"))


def votes(pool: list[int]) -> list[int]:
    """The most frequent labels."""
    counts = Counter(pool)
    return [label for label, count in counts.items() if count == max(counts.values())]


@pytest.mark.parametrize("seed", range(4))
def test_classes_agree_with_a_loop(seed: int) -> None:
    made = table(seed)
    train = [
        (tuple(z), int(y))
        for z, y, t in zip(made.codes.tolist(), made.y, made.test, strict=True)
        if not t
    ]
    test = [
        (tuple(z), int(y))
        for z, y, t in zip(made.codes.tolist(), made.y, made.test, strict=True)
        if t
    ]
    constant = min(votes([y for _, y in train]))
    for rule in rules(made):

        def key(z: tuple[int, ...], rule: Rule = rule) -> tuple[int, ...]:
            return tuple(z[f] for f in rule.factors)

        right = 0.0
        for i, (z, y) in enumerate(train):
            pool = [v for j, (w, v) in enumerate(train) if j != i and key(w) == key(z)]
            best = votes(pool) if pool else [constant]
            right += (y in best) / (2 if len(best) > 1 and y in best else 1)
        assert rule.train_right == pytest.approx(right / len(train))
        judged = [(z, y) for z, y in test if any(key(w) == key(z) for w, _ in train)]
        assert (rule.judged, rule.unseen) == (len(judged), len(test) - len(judged))
        hits = [min(votes([v for w, v in train if key(w) == key(z)])) == y for z, y in judged]
        assert rule.test_right == pytest.approx(np.mean(hits))
        base = np.mean([y != constant for _, y in judged])
        assert rule.test_gain == pytest.approx(1 - (1 - np.mean(hits)) / base)


def test_numbers_agree_with_a_loop() -> None:
    made = table(7, numbers=True)
    train, y = ~made.test, made.y
    rule = next(rule for rule in rules(made) if rule.factors == (1,))
    codes = made.codes[:, 1]
    apart = []
    for i in np.flatnonzero(train):
        others = train & (codes == codes[i])
        others[i] = False
        apart.append(y[i] - y[others].mean())
    spread = y[train].var()
    assert rule.train_right == pytest.approx(1 - np.mean(np.square(apart)) / spread)
    means = np.array([y[train & (codes == c)].mean() for c in codes[made.test]])
    wrong = np.mean((y[made.test] - means) ** 2)
    assert rule.test_right == pytest.approx(1 - wrong / y[made.test].var())
    base = np.mean((y[made.test] - y[train].mean()) ** 2)
    assert rule.test_gain == pytest.approx(1 - wrong / base)


def test_a_shortcut_that_breaks_is_found_and_one_that_holds_is_not() -> None:
    rng = np.random.default_rng(0)
    n = 600
    shape, size = rng.integers(0, 2, n), rng.integers(0, 4, n)
    test = rng.random(n) < 0.3
    y = shape ^ (size > 1)
    background = np.where(test, rng.integers(0, 2, n), np.where(rng.random(n) < 0.95, y, 1 - y))
    made = {
        "shape": shape.tolist(), "size": size.tolist(), "background": background.tolist(),
        "y": y.tolist(), "split": np.where(test, "test", "train").tolist(),
    }  # fmt: skip
    done = audited(made)
    (finding,) = [each for each in done.findings if each.kind == "shortcut"]
    assert "'background' alone" in finding.text and finding.weight == "problem"
    del made["background"]
    assert "shortcut" not in kinds(audited(made))


def test_a_value_for_every_row_is_no_rule() -> None:
    made = columns((20, 20), lambda z: z.sum(1) % 2, lambda z: z[:, 0] == z[:, 1])
    made["name"] = [f"n{i}" for i in range(400)]
    done = audited(made)
    rule = next(r for r in done.rules if [done.table.factors[f] for f in r.factors] == ["name"])
    assert rule.train_gain <= 0 and rule.judged == 0 and np.isnan(rule.test_gain)
    assert "identifier" in kinds(done)


def test_a_name_of_rows_has_a_value_for_every_row_or_two() -> None:
    many = columns((240, 4), lambda z: z[:, 1] > 1, corner((240, 4)))
    assert "identifier" not in kinds(audited(many, predictions=False))
    few = columns((5, 5), lambda z: z[:, 1] > 1, corner((5, 5)))
    few["name"] = list(range(25))
    assert "identifier" in kinds(audited(few, predictions=False))
