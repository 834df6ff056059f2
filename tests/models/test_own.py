"""Models of one's own: three kinds, stacked or looped alike, and mistakes told in plain words."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from recombine.errors import BadValue, UsageError
from recombine.models.own import Factory, Kind, Own, form_of, given, known, load, own
from recombine.models.own_stacks import OwnClasses, OwnNextToken, OwnSequence
from recombine.models.stack import read_sites

SHAPE, OUTPUTS, CLASSES = (4, 3), 3, 5


class Dense(nn.Module):
    def __init__(self, inputs: int, scores: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(inputs, 7), nn.ReLU(), nn.Linear(7, scores))

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.layers(x.flatten(1))
        return scores


class Recurrent(nn.Module):
    """Reads the source with an LSTM, and the words so far with another that starts from there."""

    def __init__(self, words: int, classes: int) -> None:
        super().__init__()
        self.source, self.words = nn.Embedding(words + 1, 6), nn.Embedding(classes + 1, 6)
        self.encoder, self.decoder = (nn.LSTM(6, 6, batch_first=True) for _ in range(2))
        self.readout = nn.Linear(6, classes)

    def forward(self, source: Tensor, words: Tensor) -> Tensor:
        _, state = self.encoder(self.source(source))
        states, _ = self.decoder(self.words(words), state)
        scores: Tensor = self.readout(states)
        return scores


class Language(nn.Module):
    def __init__(self, tokens: int) -> None:
        super().__init__()
        self.embedding, self.rnn = nn.Embedding(tokens, 6), nn.GRU(6, 6, batch_first=True)
        self.readout = nn.Linear(6, tokens)

    def forward(self, tokens: Tensor) -> Tensor:
        scores: Tensor = self.readout(self.rnn(self.embedding(tokens))[0])
        return scores


def dense(input_shape: tuple[int, ...], outputs: int, classes: int) -> nn.Module:
    return Dense(input_shape[0] * input_shape[1], outputs * classes)


def recurrent(words: int, classes: int) -> nn.Module:
    return Recurrent(words, classes)


def language(tokens: int) -> nn.Module:
    return Language(tokens)


def stack_of(factory: object, form: Kind, seeds: tuple[int, ...] = (0, 1)) -> object:
    return given(factory, form=form).stack(seeds, SHAPE, OUTPUTS, CLASSES)  # type: ignore[arg-type]


def sources() -> Tensor:
    rows = torch.eye(3)[torch.randint(3, (1, 6, 4), generator=torch.manual_seed(0))]
    rows[:, 0, 2:] = 0.0
    return rows


class Reader(nn.Module):
    """Reads rows with a GRU, which vmap cannot, and answers from its last state."""

    def __init__(self, inputs: int, scores: int) -> None:
        super().__init__()
        self.rnn, self.readout = nn.GRU(inputs, 7, batch_first=True), nn.Linear(7, scores)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.readout(self.rnn(x)[0][:, -1])
        return scores


def reader(input_shape: tuple[int, ...], outputs: int, classes: int) -> nn.Module:
    return Reader(input_shape[1], outputs * classes)


@pytest.mark.parametrize(("factory", "looped"), [(dense, False), (reader, True)])
def test_what_the_last_linear_reads_is_a_site(factory: Factory, looped: bool) -> None:
    stack = stack_of(factory, "classes")
    assert isinstance(stack, OwnClasses) and stack.looped is looped
    assert stack.sites == ("hidden", "output")
    x = torch.randn(1, 6, *SHAPE, generator=torch.manual_seed(0))
    seen = read_sites(stack, x, stack.sites)
    assert seen["hidden"].shape == (2, 6, 7)
    held = stack.inner.by_name()
    weight, bias = (next(held[n] for n in reversed(held) if w in n) for w in ("weight", "bias"))
    scores = torch.einsum("sbh,soh->sbo", seen["hidden"], weight) + bias.unsqueeze(1)
    torch.testing.assert_close(scores.reshape(2, 6, OUTPUTS, CLASSES), seen["output"])

    def silent(site: str, value: Tensor) -> Tensor:
        return torch.zeros_like(value) if site == "hidden" else value

    alone = bias.unsqueeze(1).expand(2, 6, -1).reshape(2, 6, OUTPUTS, CLASSES)
    torch.testing.assert_close(stack(x, silent), alone)
    torch.testing.assert_close(stack(x), seen["output"])


class Named(Dense):
    """Calls its layers by name, which a site cannot follow."""

    def forward(self, x: Tensor) -> Tensor:
        first, _, last = self.layers
        scores: Tensor = last(input=first(x.flatten(1)).relu())
        return scores


class RowByRow(Dense):
    """Its last layer does not have a row an example."""

    def __init__(self, inputs: int, scores: int) -> None:
        super().__init__(inputs, scores)
        self.last = nn.Linear(1, 1)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.layers(x.flatten(1))
        return self.last(scores.reshape(-1, 1)).reshape(scores.shape)


@pytest.mark.parametrize("kind", [Named, RowByRow])
def test_a_layer_that_cannot_be_followed_is_no_site(kind: type[Dense]) -> None:
    def factory(input_shape: tuple[int, ...], outputs: int, classes: int) -> nn.Module:
        return kind(input_shape[0] * input_shape[1], outputs * classes)

    stack = given(factory, form="classes").stack((0, 1), SHAPE, OUTPUTS, CLASSES)
    assert stack.sites == ("output",)
    x = torch.randn(1, 6, *SHAPE, generator=torch.manual_seed(0))
    torch.testing.assert_close(stack(x, lambda _, value: value * 1.0), stack(x))


def test_a_single_layer_hides_nothing() -> None:
    assert Own.variants()[0].stack((0,), SHAPE, OUTPUTS, CLASSES).sites == ("output",)


def test_a_dense_module_is_stacked() -> None:
    stack = stack_of(dense, "classes")
    assert isinstance(stack, OwnClasses) and not stack.looped and stack.lanes == 2
    x = torch.randn(1, 6, *SHAPE)
    for lane in range(2):
        torch.manual_seed(lane)
        alone = dense(SHAPE, OUTPUTS, CLASSES)(x[0]).reshape(6, OUTPUTS, CLASSES)
        assert torch.allclose(stack(x)[lane], alone, atol=1e-6)


def test_stacked_and_looped_are_the_same() -> None:
    stack = stack_of(dense, "classes")
    assert isinstance(stack, OwnClasses)
    x = torch.randn(1, 6, *SHAPE)
    together = stack(x)
    stack.inner.looped = True
    assert torch.allclose(stack(x), together, atol=1e-6)


def test_a_recurrent_module_is_looped_and_decodes_word_by_word() -> None:
    stack = stack_of(recurrent, "sequence")
    assert isinstance(stack, OwnSequence) and stack.looped
    free = stack(sources())
    assert free.shape == (2, 6, OUTPUTS, CLASSES)
    again = stack.forced(sources().expand(2, -1, -1, -1), free.argmax(-1))
    assert torch.allclose(again, free, atol=1e-6)
    torch.manual_seed(1)
    module, index = recurrent(3, CLASSES), (sources()[0].argmax(-1) + 1) * sources()[0].any(-1)
    words = torch.zeros(6, 1, dtype=torch.long)
    for t in range(OUTPUTS):
        scores = module(index, words)[:, -1]
        assert torch.allclose(free[1, :, t], scores, atol=1e-5)
        words = torch.cat([words, scores.argmax(-1, keepdim=True) + 1], dim=1)


def test_a_language_model_reads_source_separator_and_words() -> None:
    stack = stack_of(language, "next-token")
    assert isinstance(stack, OwnNextToken)
    free = stack(sources())
    again = stack.forced(sources().expand(2, -1, -1, -1), free.argmax(-1))
    assert torch.allclose(again, free, atol=1e-6)
    torch.manual_seed(0)
    module, index = language(3 + CLASSES + 2), (sources()[0].argmax(-1) + 1) * sources()[0].any(-1)
    tokens = torch.cat([index, torch.full((6, 1), 4)], dim=1)
    assert torch.allclose(free[0, :, 0], module(tokens)[:, -1, 5:], atol=1e-5)


def test_the_kind_follows_from_what_forward_takes() -> None:
    told = known(SHAPE, OUTPUTS, CLASSES, sequences=True)
    assert form_of(recurrent, sequences=True, known=told) == "sequence"
    assert form_of(language, sequences=True, known=told) == "next-token"
    assert form_of(dense, sequences=False, known={}) == "classes"


def test_seeds_are_drawn_alone_and_the_global_generator_is_left_alone() -> None:
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    both, one = stack_of(dense, "classes"), stack_of(dense, "classes", (1,))
    assert torch.equal(torch.random.get_rng_state(), before)
    for p, q in zip(both.parameters(), one.parameters(), strict=True):  # type: ignore[attr-defined]
        assert torch.equal(p[1], q[0])


class RandomFeatures(nn.Module):
    """A first layer that is drawn and not trained."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("features", torch.randn(12, 7))
        self.readout = nn.Linear(7, OUTPUTS * CLASSES)

    def forward(self, x: Tensor) -> Tensor:
        scores: Tensor = self.readout(torch.relu(x.flatten(1) @ self.features))
        return scores


def test_every_seed_has_its_own_buffers() -> None:
    stack = stack_of(RandomFeatures, "classes")
    x = torch.randn(1, 6, *SHAPE)
    for lane in range(2):
        torch.manual_seed(lane)
        alone = RandomFeatures()(x[0]).reshape(6, OUTPUTS, CLASSES)
        assert torch.allclose(stack(x)[lane], alone, atol=1e-6)  # type: ignore[operator]


def test_what_is_frozen_stays_frozen() -> None:
    def half() -> nn.Module:
        module = Dense(12, OUTPUTS * CLASSES)
        module.layers[0].requires_grad_(False)
        return module

    stack = stack_of(half, "classes")
    trained = {name for name, p in stack.named_parameters() if p.requires_grad}  # type: ignore[attr-defined]
    assert trained == {"inner.layers__2__weight", "inner.layers__2__bias"}


class LooksAhead(Recurrent):
    def forward(self, source: Tensor, words: Tensor) -> Tensor:
        return super().forward(source, words) + self.words(words).sum((1, 2), keepdim=True)


class Fails(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        raise RuntimeError("mat1 and mat2 cannot be multiplied")


class Both(Dense):
    def forward(self, x: Tensor) -> tuple[Tensor, None]:  # type: ignore[override]
        return super().forward(x), None


class Chooses(Dense):
    def forward(self, x: Tensor) -> Tensor:
        return super().forward(x).round().long()


@pytest.mark.parametrize(
    ("factory", "form", "words"),
    [
        (lambda: Both(12, 15), "classes", ["a tuple, not a tensor", "3 outputs"]),
        (lambda: Chooses(12, 15), "classes", ["torch.int64", "expected scores"]),
        (lambda: Dense(12, 4), "classes", ["gave (2, 4)", "expected (2, 3, 5)"]),
        (lambda: Fails(), "classes", ["mat1 and mat2", "(2, 4, 3) float32", "3 outputs"]),
        (lambda: LooksAhead(3, CLASSES), "sequence", ["looks ahead", "mask later words"]),
        (lambda: Recurrent(3, 4), "sequence", ["expected (2, 3, 5)", "5 target words"]),
        (lambda: Language(9), "next-token", ["10"]),
        (lambda: 3, "classes", ["gave int", "torch.nn.Module"]),
        (lambda size: Dense(12, 15), "classes", ["takes 'size'", "input_shape"]),
        (lambda: sys.exit(4), "classes", ["SystemExit: 4"]),
        (lambda: [][1], "classes", ["IndexError"]),
        (lambda: nn.LazyLinear(15), "classes", ["lazy layers", "input_shape"]),
    ],
)
def test_mistakes_are_told_in_plain_words(factory: object, form: Kind, words: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        stack_of(factory, form)
    message = str(caught.value)
    assert all(word in message for word in words), message
    assert "\n" not in message


def test_files_and_names_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no such file"):
        load(f"{tmp_path}/absent.py:build")
    path = tmp_path / "mine.py"
    path.write_text("def build(): ...\n")
    with pytest.raises(UsageError, match="has no make: it has build"):
        load(f"{path}:make")
    path.write_text("import nothing_of_that_name\n")
    with pytest.raises(UsageError, match="cannot be loaded: ModuleNotFoundError"):
        load(f"{path}:build")
    with pytest.raises(UsageError, match=r"expected path/to/file\.py:function"):
        load("build")


@pytest.mark.parametrize("text", ["raise SystemExit(3)", "raise ValueError('one\\ntwo')"])
def test_a_file_that_fails_is_told_in_one_line(text: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(f"{text}\n")
    with pytest.raises(UsageError, match="cannot be loaded: ") as caught:
        load(f"{tmp_path}/mine.py:build")
    assert "\n" not in str(caught.value)


def test_numpy_and_python_draw_by_seed_too() -> None:
    def drawn() -> nn.Module:
        module = nn.Linear(12, OUTPUTS * CLASSES)
        module.bias.data[:] = float(np.random.normal()) + random.random()  # noqa: NPY002
        return nn.Sequential(nn.Flatten(), module)

    np.random.seed(7)  # noqa: NPY002
    before = np.random.get_state()[1]  # type: ignore[index]  # noqa: NPY002
    one, other, again = (stack_of(drawn, "classes", (seed,)) for seed in (0, 1, 0))
    assert np.array_equal(np.random.get_state()[1], before)  # type: ignore[index]  # noqa: NPY002
    x = torch.randn(1, 6, *SHAPE)
    assert torch.equal(one(x), again(x)) and not torch.allclose(one(x), other(x))  # type: ignore[operator]


def test_a_changed_file_is_another_model(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text("import torch\ndef build(): return torch.nn.Linear(2, 2)\n")
    first = own(f"{path}:build", form="classes")
    path.write_text("import torch\ndef build(): return torch.nn.Linear(2, 2, bias=False)\n")
    second = own(f"{path}:build", form="classes")
    assert first.source != second.source
    assert len(list(second.stack([0], (2,), 1, 2).parameters())) == 1


@pytest.mark.parametrize("suffix", ["safetensors", "pt"])
def test_trained_weights_are_put_in_place(tmp_path: Path, suffix: str) -> None:
    from safetensors.torch import save_file

    source = tmp_path / "mine.py"
    source.write_text("import torch\ndef build(): return torch.nn.Linear(2, 2)\n")
    module, path = nn.Linear(2, 2), tmp_path / f"trained.{suffix}"
    state = {name: value.contiguous() for name, value in module.state_dict().items()}
    save_file(state, path) if suffix == "safetensors" else torch.save(state, path)
    blueprint = own(f"{source}:build", form="classes", weights=str(path))
    x = torch.randn(1, 3, 2)
    assert torch.allclose(blueprint.stack([0], (2,), 1, 2)(x)[0, :, 0], module(x[0]), atol=1e-6)
    wrong = Own(f"{source}:build", "", "classes", str(path))
    torch.save({"other": torch.zeros(1)}, tmp_path / "bad.pt")
    with pytest.raises(BadValue, match="a state of this very module"):
        Own(wrong.factory, "", "classes", str(tmp_path / "bad.pt")).stack([0], (2,), 1, 2)
