"""Digit pairs: which labels and images each split has, and what is drawn how often."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from recombine import data
from recombine.analyses.dependence import Dependence
from recombine.cell import Context
from recombine.errors import BadValue, Interrupted, NoData, UnknownName
from recombine.models.convnet import ConvNet
from recombine.seeds import stream
from recombine.tasks.digit_pairs import UNKNOWN, DigitPairs
from recombine.training import Probe, Recipe, Trial
from recombine.training.optimizers import Adam


def shifts_of(z: np.ndarray) -> set[int]:
    return set(((z[:, 1:] - z[:, :1]) % 10).ravel().tolist())


def test_the_papers_settings_have_their_combinations() -> None:
    a, b = DigitPairs().splits(), DigitPairs("B").splits()
    assert len(a["train"]) == 20 and shifts_of(a["train"]) == {0, 1}
    assert len(b["train"]) == 100 and shifts_of(b["train"]) == set(range(10))
    for each in (a, b):
        assert len(each["test"]) == 80 and shifts_of(each["test"]) == set(range(2, 10))
        np.testing.assert_array_equal(each["seen"], each["train"])


def test_three_digits_and_other_shifts() -> None:
    splits = DigitPairs(digits=3, shifts=(0, 3, 4)).splits()
    assert len(splits["train"]) == 10 * 3**2 and shifts_of(splits["train"]) == {0, 3, 4}
    assert len(splits["test"]) == 10 * 7**2
    assert shifts_of(splits["test"]) == {1, 2, 5, 6, 7, 8, 9}
    assert DigitPairs(digits=3, asked=2).targets(np.array([[3, 1, 4]])).tolist() == [[3, 1]]


def test_an_input_is_its_images_side_by_side() -> None:
    task = DigitPairs(digits=3)
    examples = task.sample("train", 40, stream(0, "test"))
    assert examples.inputs.shape == (40, 28, 84) and examples.inputs.dtype == np.float32
    pictures, labels = data.images("mnist-5k", "train")
    known = {picture.tobytes(): label for picture, label in zip(pictures, labels, strict=True)}
    pixels = (examples.inputs * 255).astype(np.uint8)
    for k in range(3):
        shown = [known[p.tobytes()] for p in pixels[:, :, 28 * k : 28 * (k + 1)]]
        assert shown == examples.z[:, k].tolist()
        assert task.part(k).sum() == 28 * 28 and task.part(k)[:, 28 * k : 28 * (k + 1)].all()


@pytest.mark.parametrize("split", ["train", "seen", "test", "all"])
def test_training_images_are_only_trained_on(split: str) -> None:
    part = "train" if split == "train" else "test"
    pictures = {picture.tobytes() for picture in data.images("mnist-5k", part)[0]}
    task = DigitPairs()
    examples = task.sample(split, 100, stream(1, "test"))
    moved = task.resample(examples, 1, stream(2, "test")) if split == "all" else examples
    for inputs in (examples.inputs, moved.inputs):
        pixels = np.rint(inputs * 255).astype(np.uint8)
        for k in range(2):
            assert all(p.tobytes() in pictures for p in pixels[:, :, 28 * k : 28 * (k + 1)])


def test_labels_are_uniform_and_images_uniform_within_a_label() -> None:
    task = DigitPairs()
    z, noise = task.draw("test", 40_000, stream(3, "test"))
    counts = np.bincount(z[:, 0], minlength=10)
    assert abs(counts / 40_000 - 0.1).max() < 5 * np.sqrt(0.09 / 40_000)
    ranks = ((noise[:, 0] - 1) * 100).astype(int)
    per_image = np.bincount(ranks, minlength=100) / 40_000
    assert len(per_image) == 100 and abs(per_image - 0.01).max() < 5 * np.sqrt(0.0099 / 40_000)


def test_the_oracle_knows_the_images_and_nothing_else() -> None:
    task = DigitPairs()
    examples = task.sample("test", 20, stream(4, "test"))
    assert (task.oracle(examples.inputs) == examples.targets).all()
    blurred = examples.inputs.copy()
    blurred[:, 14, 14] = 1 - blurred[:, 14, 14]
    assert (task.oracle(blurred) == UNKNOWN).all()


@pytest.mark.parametrize("name", ["mnist", "fashion-mnist", "cifar10"])
def test_any_set_of_images_will_do(name: str) -> None:
    if data.state(data.find(name)) != "ready":
        pytest.skip(f"needs 'recombine data get {name}'")
    task = DigitPairs(images=name)
    examples = task.sample("test", 30, stream(5, "test"))
    assert examples.inputs.shape[1:] == task.input_shape
    assert (examples.inputs >= 0).all() and (examples.inputs <= 1).all()
    assert (task.oracle(examples.inputs) == examples.targets).all()


def test_absent_data_is_told_before_anything_is_run(
    tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RECOMBINE_DATA", str(tmp_path))
    DigitPairs().ready()
    with pytest.raises(NoData, match=r"mnist is absent.*'recombine data get mnist'"):
        DigitPairs(images="mnist").ready()


def test_what_is_not_legal_is_refused() -> None:
    with pytest.raises(UnknownName, match="perhaps you meant 'mnist'"):
        DigitPairs(images="mnits")
    for wrong in ({"digits": 1}, {"shifts": ()}, {"shifts": tuple(range(10))}, {"asked": 3}):
        with pytest.raises(BadValue, match="digit-pairs"):
            DigitPairs(**wrong)  # type: ignore[arg-type]


def test_a_looped_trial_gives_a_seed_the_same_bits_alone_and_after_a_stop() -> None:
    trial = Trial(
        DigitPairs(),
        ConvNet(channels=(3, 4), widths=(6,)),
        Recipe(steps=4, batch=5, loss="categorical-hinge", optimizer=Adam(), evaluate_at=(0, 2),
               evaluation_examples=70, lanes="looped"),
        (Probe(Dependence(30, 10, "predictive"), (0, 4)),),
    )  # fmt: skip
    together = trial.run([0, 1], Context())
    place = Kept()
    with pytest.raises(Interrupted):
        trial.run([1], Context(progress=stop_at(3), checkpoint=place))
    resumed = trial.run([1], Context(checkpoint=place))
    for again in (trial.run([1], Context())[1], resumed[1]):
        assert again.arrays.keys() == together[1].arrays.keys()
        for name, values in again.arrays.items():
            np.testing.assert_array_equal(values, together[1].arrays[name], err_msg=name)


class Kept:
    """A checkpoint in memory."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] | None = None

    def load(self) -> dict[str, np.ndarray] | None:
        return self.arrays

    def save(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.arrays = {name: np.array(values) for name, values in arrays.items()}


def stop_at(step: int) -> Callable[[int, int], None]:
    def progress(done: int, total: int) -> None:
        if done == step:
            raise Interrupted("stop")

    return progress
