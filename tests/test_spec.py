"""Specs check themselves, survive JSON, refuse what is unknown, and keep their keys."""

import dataclasses
import json
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recombine import catalog, spec
from recombine.analyses.decomposition_variant import Variant
from recombine.errors import BadValue, UnknownName, UsageError
from recombine.models.mlp import MLP
from recombine.tasks.corners import Corners
from recombine.tasks.spans import Spans
from recombine.training import SGD, Adam, Exponential, Recipe, Stop, Trial


@dataclass(frozen=True)
class Inner(spec.Spec):
    kind: ClassVar[str] = "tests"
    name: ClassVar[str] = "inner"

    x: int = 1


@dataclass(frozen=True)
class Outer(spec.Spec):
    kind: ClassVar[str] = "tests"
    name: ClassVar[str] = "outer"
    version: ClassVar[int] = 3

    number: float = 1.0
    word: Literal["a", "b"] = "a"
    many: tuple[int, ...] = ()
    maybe: int | None = None
    pair: tuple[float, float] = (0.0, 1.0)
    flag: bool = False
    text: str = ""
    inner: Inner = Inner()
    added: str | None = spec.later(None)


def resolve(name: str) -> type[spec.Spec]:
    return {"tests/inner": Inner, "tests/outer": Outer}[name]


outers = st.builds(
    Outer,
    number=st.floats(allow_nan=False, allow_infinity=False),
    word=st.sampled_from(["a", "b"]),
    many=st.lists(st.integers()).map(tuple),
    maybe=st.none() | st.integers(),
    pair=st.tuples(st.floats(-1, 1), st.floats(-1, 1)),
    flag=st.booleans(),
    text=st.text(),
    inner=st.builds(Inner, x=st.integers()),
    added=st.none() | st.text(),
)


@given(outers)
def test_a_spec_survives_the_round_trip_through_text(value: Outer) -> None:
    text = spec.canonical(spec.encode(value))
    again = spec.decode(json.loads(text), resolve)
    assert again == value
    assert spec.canonical(spec.encode(again)) == text


@given(outers, outers)
def test_keys_are_equal_exactly_when_specs_are(a: Outer, b: Outer) -> None:
    # 0.0 and -0.0 are equal and written differently; no setting distinguishes them
    if repr(a).replace("-0.0", "0.0") == repr(b).replace("-0.0", "0.0"):
        return
    assert (a == b) == (spec.key_of(a) == spec.key_of(b))


def test_lists_become_tuples_and_whole_numbers_floats() -> None:
    value = Outer(number=2, many=[1, 2], pair=[0, 1])  # type: ignore[arg-type]
    assert value == Outer(number=2.0, many=(1, 2), pair=(0.0, 1.0))
    assert isinstance(value.number, float)


@pytest.mark.parametrize(
    ("field", "value", "legal"),
    [
        ("number", "x", "a number"),
        ("number", float("nan"), "a finite number"),
        ("number", True, "a number"),
        ("word", "c", "one of a, b"),
        ("many", 3, "a list"),
        ("many", (1, "x"), "a whole number"),
        ("maybe", "x", "a whole number or nothing"),
        ("maybe", True, "a whole number or nothing"),
        ("pair", (1.0,), "2 values"),
        ("flag", 1, "true or false"),
        ("inner", 3, "a Inner"),
    ],
)
def test_a_wrong_value_is_refused_with_what_is_legal(field: str, value: object, legal: str) -> None:
    with pytest.raises(BadValue, match=legal) as caught:
        Outer(**{field: value})  # type: ignore[arg-type]
    assert field in str(caught.value)


def test_unknown_keys_are_refused_with_the_nearest() -> None:
    data = spec.encode(Outer()) | {"nunber": 2.0}
    with pytest.raises(UnknownName, match="perhaps you meant 'number'"):
        spec.decode(data, resolve)


def test_another_version_is_refused() -> None:
    data = spec.encode(Outer()) | {"is": "tests/outer@2"}
    with pytest.raises(UsageError, match=r"version 2.*has version 3"):
        spec.decode(data, resolve)


def test_a_version_is_part_of_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    before = spec.key_of(Outer())
    monkeypatch.setattr(Outer, "version", 4)
    assert spec.key_of(Outer()) != before


def test_a_field_added_later_leaves_old_keys_alone() -> None:
    assert "added" not in spec.encode(Outer())
    assert spec.encode(Outer(added="x"))["added"] == "x"


def test_override_sets_nested_fields_from_text() -> None:
    trial = Trial(Corners(), MLP(), Recipe())
    settings = {"recipe.steps": "7", "model.widths": "16,16", "recipe.clip": "none"}
    changed = spec.override(trial, {**settings, "task.profile": "as-run"})
    assert changed == Trial(
        Corners(profile="as-run"), MLP(widths=(16, 16)), Recipe(steps=7, clip=None)
    )


def test_override_checks_what_is_set_together() -> None:
    """21 rules of 7 listed conduits are legal; neither is beside what stood there before."""
    task = Spans(rules=1000, listed=20, tokens=20_000)
    changed = spec.override(task, {"listed": "7", "rules": "21"})
    assert changed == replace(task, listed=7, rules=21)
    with pytest.raises(BadValue, match="a multiple of the 7"):
        spec.override(task, {"listed": "7"})


@pytest.mark.parametrize("text", ["rel-rel,rel-b", "rel-rel, rel-b", '["rel-rel", "rel-b"]'])
def test_lists_of_names_are_typed_with_commas(text: str) -> None:
    assert spec.override(Variant(), {"interactions": text}) == Variant(
        interactions=("rel-rel", "rel-b")
    )


@pytest.mark.parametrize("path", ["recipe.stps", "task.profile.x", "nothing"])
def test_override_refuses_fields_that_are_not_there(path: str) -> None:
    with pytest.raises(UnknownName):
        spec.override(Trial(Corners(), MLP(), Recipe()), {path: "1"})


def test_walk_meets_every_spec_inside() -> None:
    kinds = {type(each).__name__ for each in spec.walk(Trial(Corners(), MLP(), Recipe()))}
    assert kinds == {"Trial", "Corners", "MLP", "Recipe", "SGD", "Constant"}


GOLDEN = {
    "corners": (Corners(), "0b8b070896ec46810f06dba7"),
    "corners as run, four": (
        Corners(profile="as-run", train_on="four"),
        "d413b32e59cee735a675de64",
    ),
    "mlp": (MLP(), "652cab7e46e3417b4990b324"),
    "trial": (Trial(Corners(), MLP(), Recipe()), "32a328b836a7c575f29fa44b"),
    "trial with everything": (
        Trial(
            Corners(),
            MLP(widths=(4,), init="playground", readout="sign"),
            Recipe(
                steps=10,
                sampling="without-replacement",
                examples=20,
                optimizer=Adam(),
                schedule=Exponential(),
                clip=1.0,
                stop=Stop(patience=3),
                lanes="looped",
            ),
            keep_weights=True,
        ),
        "d5674f534efb0e30fc5b4509",
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_golden_keys_never_change(name: str) -> None:
    """A key that changes orphans every stored run. Never edit these; bump a version instead."""
    value, key = GOLDEN[name]
    assert spec.key_of(value) == key


def test_a_default_is_the_same_configuration_as_the_value_written_out() -> None:
    written = Recipe(**{f.name: getattr(Recipe(), f.name) for f in dataclasses.fields(Recipe)})
    assert spec.key_of(written) == spec.key_of(Recipe())
    assert spec.key_of(Recipe(optimizer=SGD(rate=0.1))) == spec.key_of(Recipe())


def test_the_catalog_reads_what_spec_writes() -> None:
    trial = GOLDEN["trial with everything"][0]
    assert catalog.read(spec.encode(trial)) == trial
