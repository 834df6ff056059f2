"""Records: made, written, read back the same, and not believed after an edit."""

from __future__ import annotations

import dataclasses
import json
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from toy_runs import KEY, MADE, Toy, broken, done

from recombine import spec
from recombine.cell import Outcome
from recombine.errors import BadValue, StoreError
from recombine.runs import failed, finished
from recombine.runs import record as records

PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None, max_examples=60)
@given(
    scalars=st.dictionaries(st.text(), st.floats(), max_size=5),
    environment=st.dictionaries(st.text(), PLAIN, max_size=4),
    seed=st.integers(0, 10**18 - 1),
    seconds=st.floats(0, 1e9),
)
def test_round_trip(scalars, environment, seed, seconds):
    outcome = Outcome(scalars=scalars, arrays={"é": np.ones(2)})
    run = finished(Toy(), seed, outcome, environment=environment, source="日本", seconds=seconds)
    again = records.read(records.write(run.record))
    assert again == run.record
    assert records.write(again) == records.write(run.record)


@settings(deadline=None, max_examples=60)
@given(error=st.text(st.characters()))
def test_any_traceback_can_be_kept(error):
    record = failed(Toy(), 1, error, **MADE).record
    assert records.read(records.write(record)) == record
    assert record.status == "failed"


def test_a_record_is_dated_in_utc():
    undated = {name: value for name, value in MADE.items() if name != "created"}
    created = failed(Toy(), 1, "", **undated).record.created
    age = datetime.now(UTC) - datetime.fromisoformat(created)
    assert timedelta(0) <= age < timedelta(minutes=1)


def test_a_record_says_what_it_is():
    run = done(3)
    assert str(run.record) == f"{KEY}/3"
    assert run.record.cell == spec.encode(Toy())
    assert set(run.record.files) == set(run.contents) == {records.ARRAYS, records.WEIGHTS}
    assert json.loads(records.write(run.record))["record"] == 1


def test_undefined_numbers_are_legal_json():
    def refuse(name):
        raise AssertionError(f"{name} is not JSON")

    data = json.loads(records.write(done(0).record), parse_constant=refuse)
    assert data["scalars"] == {"accuracy": 0.5, "angle": None, "loss": "inf"}


@pytest.mark.parametrize("field", [f.name for f in dataclasses.fields(records.Record)])
def test_every_field_is_under_the_digest(field):
    data = json.loads(records.write(broken(1).record))
    data[field] = "something else"
    with pytest.raises(ValueError, match="digest"):
        records.from_json(data)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("cell_key", "../../etc"),
        ("seed", -1),
        ("seed", "1"),
        ("files", {"../evil": "0"}),
        ("status", "almost"),
        ("scalars", {"a": "one"}),
        ("environment", None),
        ("record", 0),
    ],
)
def test_illegal_values_are_refused_even_under_a_digest(field, value):
    with pytest.raises(ValueError, match="the record has"):
        records.from_json(_with(done(1).record, field, value))


def test_a_newer_format_asks_for_an_upgrade():
    with pytest.raises(StoreError, match="upgrade"):
        records.from_json(_with(done(1).record, "record", 2))


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff", b"[" * 100_000, b'{"a": NaN}'])
def test_what_is_no_record_is_a_value_error(content):
    with pytest.raises(ValueError, match=r"the record|Out of range"):
        records.read(content)


def test_weights_stay_at_home():
    record = done(1).record
    carried = records.without_weights(record)
    assert set(carried.files) == {records.ARRAYS}
    assert records.read(records.write(carried)) == carried
    assert records.without_weights(carried) == carried
    assert carried.environment == record.environment


@pytest.mark.parametrize("seed", [-1, True, 1.0, 10**18])
def test_a_seed_is_a_small_whole_number(seed):
    with pytest.raises(BadValue):
        done(seed)


def _with(record, field, value):
    data = records.to_json(record) | {field: value}
    del data["digest"]
    return data | {"digest": spec.digest(data)}
