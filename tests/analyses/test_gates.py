"""Saturation in words: what a high gate does, by the mixture it stands in."""

import numpy as np
import pytest

from recombine.analyses.gates import Gates, meaning, saturation
from recombine.errors import UnknownName


@pytest.mark.parametrize("convention", ["torch", "printed"])
def test_kept_is_what_the_mixture_keeps(convention: str) -> None:
    """Tried on the formulas themselves, with z at its ends."""
    h, n = 3.0, 7.0

    def mix(z: float) -> float:
        return (1 - z) * n + z * h if convention == "torch" else (1 - z) * h + z * n

    high, low = meaning("update", convention)  # type: ignore[arg-type]
    happens = {h: "kept", n: "overwritten"}
    assert (happens[mix(1.0)], happens[mix(0.0)]) == (high, low)


def test_only_the_update_gate_depends_on_the_convention() -> None:
    for gate in ("reset", "forget", "input", "output"):
        assert meaning(gate, "torch") == meaning(gate, "printed")


def test_saturation_counts_samples_unit_by_unit() -> None:
    values = np.array([[0.05, 0.5], [0.95, 0.95], [0.99, 0.4], [0.2, 0.02]])
    high, low = saturation(values)
    assert high == pytest.approx([0.5, 0.25])
    assert low == pytest.approx([0.25, 0.25])


def test_an_unknown_gate_is_refused() -> None:
    with pytest.raises(UnknownName):
        Gates(gate="gait")
