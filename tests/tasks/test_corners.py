"""The two-dimensional problem is what the paper and the playground say it is."""

import numpy as np
import pytest

from recombine.errors import BadValue, UnknownName
from recombine.seeds import stream
from recombine.tasks.corners import Corners
from recombine.theory import information


def sample(task: Corners, split: str, n: int = 30_000) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    examples = task.sample(split, n, stream(0, "test"))
    return examples.z, examples.inputs.astype(float), examples.targets


def test_as_printed_x_is_y_minus_a_uniform() -> None:
    z, x, y = sample(Corners(), "train")
    assert np.array_equal(y[:, 0], z[:, 0])
    noise = z - x
    assert noise.min() >= 0 and noise.max() <= 1
    for axis in range(2):
        histogram = np.histogram(noise[:, axis], bins=10, range=(0, 1))[0] / len(z)
        assert np.abs(histogram - 0.1).max() < 0.01


def test_as_run_points_are_the_playgrounds_exclusive_or_set_less_a_quadrant() -> None:
    _, x, y = sample(Corners(profile="as-run"), "train")
    assert 0.3 <= np.abs(x).min() < 0.31
    assert 5.29 < np.abs(x).max() <= 5.3
    assert not ((x[:, 0] > 0) & (x[:, 1] > 0)).any()
    assert np.array_equal(y[:, 0], (x[:, 0] > 0).astype(int))


@pytest.mark.parametrize("profile", ["as-printed", "as-run"])
def test_training_shows_three_corners_equally_often(profile: str) -> None:
    z, _, _ = sample(Corners(profile=profile), "train")  # type: ignore[arg-type]
    found, counts = np.unique(z, axis=0, return_counts=True)
    assert found.tolist() == [[0, 0], [0, 1], [1, 0]]
    assert np.abs(counts / len(z) - 1 / 3).max() < 0.01


def test_the_unseen_corner_is_one_one() -> None:
    z, x, y = sample(Corners(), "corner")
    assert (z == 1).all() and (y == 1).all() and (x >= 0).all()


def test_the_redundant_input_tells_what_entropy_says_it_tells() -> None:
    """I(Y1; Y2) on three equal corners is h(1/3) − 2/3 bits; on all four it is nothing."""

    def told(task: Corners) -> float:
        z, _, _ = sample(task, "train")
        return float(information(np.histogram2d(z[:, 0], z[:, 1], bins=2)[0].astype(int)))

    third = -(1 / 3) * np.log2(1 / 3) - (2 / 3) * np.log2(2 / 3)
    assert told(Corners()) == pytest.approx(third - 2 / 3, abs=0.01)
    assert told(Corners(train_on="four")) == pytest.approx(0, abs=0.001)


def test_an_unknown_split_or_profile_is_refused() -> None:
    with pytest.raises(UnknownName, match="legal: all, corner, train"):
        Corners().combinations("test")
    with pytest.raises(BadValue, match="as-printed, as-run"):
        Corners(profile="as_run")  # type: ignore[arg-type]


def test_combinations_cannot_be_changed_by_a_caller() -> None:
    with pytest.raises(ValueError, match="read-only"):
        Corners().combinations("train")[0, 0] = 1
