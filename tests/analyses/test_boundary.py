"""Map, error and angle of boundaries drawn by hand."""

import numpy as np
import pytest
import torch

from recombine.analyses.boundary import Boundary
from recombine.models.mlp import MLP, StackedMLP
from recombine.tasks.corners import Corners


def straight(angle: float) -> StackedMLP:
    """Class 1 to the right of a line through the origin at this angle to the X1 axis."""
    stack = MLP(widths=()).stack([0], (2,), 1, 2)
    assert isinstance(stack, StackedMLP)
    turn = np.deg2rad(angle)
    normal = torch.tensor([np.sin(turn), -np.cos(turn)], dtype=torch.float32)
    stack.weights[0].data[0] = torch.stack([-50 * normal, 50 * normal], dim=1)
    stack.biases[0].data.zero_()
    return stack


@pytest.mark.parametrize("profile", ["as-printed", "as-run"])
@pytest.mark.parametrize("angle", [90, 80, 60, 45, 20])
def test_the_angle_of_a_straight_boundary_is_its_angle(profile: str, angle: float) -> None:
    task = Corners(profile=profile)  # type: ignore[arg-type]
    found = Boundary().measure(straight(angle), task, MLP(widths=()))
    assert found["boundary/angle"][0] == pytest.approx(angle, abs=0.5)


@pytest.mark.parametrize(
    ("angle", "error"), [(90, 0.0), (45, 0.5), (60, np.tan(np.deg2rad(30)) / 2)]
)
def test_the_error_is_the_area_on_the_wrong_side(angle: float, error: float) -> None:
    found = Boundary().measure(straight(angle), Corners(), MLP(widths=()))
    assert found["boundary/error"][0] == pytest.approx(error, abs=0.01)


def test_the_map_has_its_first_row_at_the_bottom() -> None:
    found = Boundary(resolution=5).measure(straight(45), Corners(), MLP(widths=()))
    picture = found["boundary/map"][0]
    assert picture.dtype == np.uint16 and picture.shape == (5, 5)
    assert picture[0, 4] == 65535  # X1 high, X2 low: right of the diagonal
    assert picture[4, 0] == 0
    assert abs(int(picture[2, 2]) - 65535 / 2) <= 1
