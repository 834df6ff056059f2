"""Identities of substitution and pruning that hold for any stack."""

import numpy as np
import pytest
import torch

from recombine.analyses.pruning import prune, strength, strongest
from recombine.analyses.substitution import component, put, substitute, take
from recombine.errors import BadValue, UnknownName
from recombine.models.mlp import MLP

RNG = np.random.default_rng(0)
NAMES = ("encoder.embedding", "encoder.cell.w_ih", "decoder.embedding", "output.weight")


def stack(*seeds: int) -> torch.nn.Module:
    return MLP(widths=(6, 5)).stack(seeds, (3,), 2, 2)


def test_a_component_is_what_matches() -> None:
    assert component(NAMES, ["encoder.*"]) == NAMES[:2]
    assert component(NAMES, ["*.embedding", "output.*"]) == (NAMES[0], NAMES[2], NAMES[3])
    with pytest.raises(UnknownName, match="encodr"):
        component(NAMES, ["encodr.*"])


def test_substituting_a_component_by_itself_changes_nothing() -> None:
    host = take(stack(0), 0)
    for patterns in (["weights.*"], ["weights.0", "biases.2"], ["*"]):
        again = substitute(host, host, patterns)
        assert all(np.array_equal(again[name], host[name]) for name in host)


def test_only_the_component_is_the_donors() -> None:
    host, donor = take(stack(0), 0), take(stack(1), 0)
    mixed = substitute(host, donor, ["weights.1"])
    for name in host:
        assert np.array_equal(mixed[name], (donor if name == "weights.1" else host)[name])


def test_everything_substituted_is_the_donor_at_work() -> None:
    x = torch.from_numpy(RNG.standard_normal((1, 9, 3)).astype(np.float32))
    host, donor = stack(0), stack(1)
    put(host, [substitute(take(host, 0), take(donor, 0), ["*"])])
    assert torch.equal(host(x), donor(x))


def test_another_shape_is_refused() -> None:
    other = take(MLP(widths=(7, 5)).stack([0], (3,), 2, 2), 0)
    with pytest.raises(BadValue):
        substitute(take(stack(0), 0), other, ["weights.*"])


def test_pruning_nothing_is_the_identity_and_everything_leaves_the_biases() -> None:
    x = torch.from_numpy(RNG.standard_normal((1, 9, 3)).astype(np.float32))
    inner = stack(0, 1)
    all_kept = {"hidden.*": np.ones((2, 1), dtype=bool)}
    assert torch.equal(prune(inner, all_kept)(x), inner(x))
    none_kept = {"hidden.*": np.zeros((2, 1), dtype=bool)}
    silent = prune(inner, none_kept)(x)
    assert torch.equal(silent, inner.biases[-1].reshape(2, 1, 2, 2).expand(-1, 9, -1, -1))


def test_pruned_units_are_as_good_as_absent() -> None:
    """The same answers as with every weight that touches a removed unit set to zero."""
    x = torch.from_numpy(RNG.standard_normal((1, 9, 3)).astype(np.float32))
    inner, kept = stack(0), np.array([[True, False, True, True, False, True]])
    pruned = prune(inner, {"hidden.0": kept})(x)
    cut = take(inner, 0)
    removed = ~kept[0]
    cut["weights.0"][:, removed] = 0
    cut["biases.0"][removed] = 0
    cut["weights.1"][removed] = 0
    other = stack(0)
    put(other, [cut])
    assert torch.allclose(other(x), pruned, atol=1e-6)


def test_no_gradient_reaches_a_pruned_unit() -> None:
    x = torch.from_numpy(RNG.standard_normal((1, 9, 3)).astype(np.float32))
    pruned = prune(stack(0), {"hidden.0": np.array([[True, False, True, True, True, True]])})
    pruned(x).square().sum().backward()
    gradient = dict(pruned.named_parameters())["inner.weights.0"].grad
    assert gradient is not None and not gradient[0, :, 1].any() and gradient[0, :, 0].any()


def test_strength_is_a_sum_over_all_weights_at_a_unit() -> None:
    incoming, recurrent = RNG.standard_normal((5, 12)), RNG.standard_normal((4, 12))
    unit = 2
    by_hand = sum(abs(incoming[i, g * 4 + unit]) for i in range(5) for g in range(3))
    by_hand += sum(abs(recurrent[i, g * 4 + unit]) for i in range(4) for g in range(3))
    by_hand += sum(abs(w) for w in recurrent[unit])
    assert strength(incoming, recurrent)[unit] == pytest.approx(by_hand)


def test_how_many_units_are_kept() -> None:
    found = RNG.random(512)
    assert strongest(found, keep=0.05).sum() == 26
    assert strongest(found, keep=0.0).sum() == 0 and strongest(found, keep=1.0).all()
    assert found[strongest(found, keep=0.1)].min() > found[~strongest(found, keep=0.1)].max()
    with pytest.raises(BadValue):
        strongest(found, keep=1.5)
