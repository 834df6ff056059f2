"""Frozen dataclass ⇄ canonical JSON ⇄ versioned key: the one form in which anything is configured.

A spec is a frozen dataclass of plain values (bool, int, float, str, None, tuples, other specs).
It is written as a JSON object whose `is` names the class and its version:

    {"is": "tasks/corners@1", "profile": "as-printed", "train_on": "three"}

Two specs are the same configuration exactly when their canonical JSON is the same text. A cell's
key is a digest of that text and of KEY_VERSION; golden keys in the tests keep it from drifting.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from typing import Any, ClassVar, Literal

from recombine.errors import BadValue, UnknownName, UsageError

KEY_VERSION = 1
"""Bumped only when the way a key is made changes: every stored run becomes unreachable."""

Resolve = Callable[[str], "type[Spec]"]
"""From a name such as `tasks/corners` to the class; the catalog provides it."""


def later(neutral: Any) -> Any:
    """A field added after its class had been keyed: left out of the JSON while it is `neutral`.

    Without this, giving an old component a new option would change the key of every stored run.
    """
    return dataclasses.field(default=neutral, metadata={"neutral": neutral})


@dataclasses.dataclass(frozen=True)
class Spec:
    """A configuration that checks itself when made and can be written, read and keyed."""

    kind: ClassVar[str]
    """The shelf of the catalog it stands on: tasks, models, analyses, training, cells."""
    name: ClassVar[str]
    """Its name on that shelf."""
    version: ClassVar[int] = 1
    """Bumped when the same fields come to mean other numbers."""

    def __post_init__(self) -> None:
        for field, hint in hints(type(self)).items():
            where = f"{self.kind}/{self.name}.{field}"
            object.__setattr__(self, field, conform(getattr(self, field), hint, where))
        self.validate()

    def validate(self) -> None:
        """Refuse combinations of fields that cannot work; single fields are checked already."""

    @classmethod
    def identity(cls) -> str:
        """How JSON names this class: `tasks/corners@1`."""
        return f"{cls.kind}/{cls.name}@{cls.version}"


_HINTS: dict[type[Spec], dict[str, Any]] = {}


def hints(cls: type[Spec]) -> dict[str, Any]:
    """The fields of a spec class with their resolved types, in order."""
    if cls not in _HINTS:
        resolved = typing.get_type_hints(cls)
        _HINTS[cls] = {field.name: resolved[field.name] for field in dataclasses.fields(cls)}
    return _HINTS[cls]


def conform(value: Any, hint: Any, where: str) -> Any:
    """The value as its annotation wants it (lists become tuples, 1 becomes 1.0), or BadValue."""
    origin, args = typing.get_origin(hint), typing.get_args(hint)
    if origin in (typing.Union, types.UnionType):
        return _conform_union(value, args, where)
    if origin is Literal:
        if value in args:
            return value
        raise BadValue(where, value, "one of " + ", ".join(map(str, args)))
    if origin is tuple:
        return _conform_tuple(value, args, where)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if hint is float and isinstance(value, float) and not math.isfinite(value):
        raise BadValue(where, value, "a finite number")
    if isinstance(value, hint) and not (hint is int and isinstance(value, bool)):
        return value
    raise BadValue(where, value, _words(hint))


def _conform_union(value: Any, options: tuple[Any, ...], where: str) -> Any:
    for option in options:
        try:
            return conform(value, option, where)
        except BadValue:
            continue
    raise BadValue(where, value, " or ".join(map(_words, options)))


def _conform_tuple(value: Any, args: tuple[Any, ...], where: str) -> tuple[Any, ...]:
    if not isinstance(value, list | tuple):
        raise BadValue(where, value, "a list")
    variadic = len(args) == 2 and args[1] is Ellipsis
    if not variadic and len(args) != len(value):
        raise BadValue(where, value, f"{len(args)} values")
    each = [args[0]] * len(value) if variadic else args
    pairs = zip(value, each, strict=True)
    return tuple(conform(item, hint, f"{where}[{i}]") for i, (item, hint) in enumerate(pairs))


def _words(hint: Any) -> str:
    if typing.get_origin(hint) is tuple:
        return "a list"
    if typing.get_origin(hint) is Literal:
        return "one of " + ", ".join(map(str, typing.get_args(hint)))
    plain = {
        int: "a whole number",
        float: "a number",
        str: "a text",
        bool: "true or false",
        type(None): "nothing",
    }
    return plain.get(hint, f"a {getattr(hint, '__name__', hint)}")


def encode(value: Any) -> Any:
    """The plain JSON value of a spec, or of a plain value inside one."""
    if isinstance(value, Spec):
        body = {"is": value.identity()}
        for field in dataclasses.fields(value):
            item = getattr(value, field.name)
            if "neutral" in field.metadata and item == field.metadata["neutral"]:
                continue
            body[field.name] = encode(item)
        return body
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    return value


def decode(data: Any, resolve: Resolve, *, where: str = "spec") -> Spec:
    """The spec that JSON describes; unknown keys, names and versions are refused."""
    if not isinstance(data, Mapping) or not isinstance(data.get("is"), str):
        raise BadValue(where, data, "an object whose 'is' names a component")
    name, _, version = data["is"].partition("@")
    cls = resolve(name)
    if version != str(cls.version):
        raise UsageError(
            f"{where} was written for {name} version {version or '?'}, "
            f"this recombine has version {cls.version}: run it again"
        )
    fields = hints(cls)
    given = {key: value for key, value in data.items() if key != "is"}
    for key in given:
        if key not in fields:
            raise UnknownName("field", key, fields, where=name)
    return cls(**{k: _decode_value(v, resolve, f"{where}.{k}") for k, v in given.items()})


def _decode_value(value: Any, resolve: Resolve, where: str) -> Any:
    if isinstance(value, Mapping):
        return decode(value, resolve, where=where)
    if isinstance(value, list):
        return tuple(_decode_value(item, resolve, where) for item in value)
    return value


def canonical(data: Any) -> str:
    """The one text of a JSON value: sorted keys, no spaces, shortest floats, no NaN."""
    return json.dumps(
        data, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


def digest(data: Any) -> str:
    """A short fingerprint of a JSON value (96 bits of SHA-256)."""
    return hashlib.sha256(canonical(data).encode()).hexdigest()[:24]


def key_of(cell: Spec) -> str:
    """The key under which runs of this cell are stored; a run is a key and a seed."""
    return digest({"key": KEY_VERSION, "cell": encode(cell)})


def walk(spec: Spec) -> Iterator[Spec]:
    """The spec and every spec inside it."""
    yield spec
    for field in dataclasses.fields(spec):
        value = getattr(spec, field.name)
        for item in value if isinstance(value, tuple) else (value,):
            if isinstance(item, Spec):
                yield from walk(item)


def override(spec: Spec, settings: Mapping[str, str]) -> Spec:
    """A copy with fields, named by dotted paths, set from the texts a user typed.

    All of them at once: what is legal may depend on several together.
    """
    values: dict[str, Any] = {}
    inner: dict[str, dict[str, str]] = {}
    for path, text in settings.items():
        require_field(spec, path)
        head, _, rest = path.partition(".")
        if rest:
            inner.setdefault(head, {})[rest] = text
        else:
            values[head] = _parse(text, hints(type(spec))[head])
    for head, some in inner.items():
        values[head] = override(getattr(spec, head), some)
    return dataclasses.replace(spec, **values)


def require_field(spec: Spec, path: str) -> None:
    """Refuse a dotted path that names no field of the spec."""
    head, _, rest = path.partition(".")
    fields = hints(type(spec))
    if head not in fields:
        raise UnknownName("field", head, fields, where=f"{spec.kind}/{spec.name}")
    if rest:
        value = getattr(spec, head)
        if not isinstance(value, Spec):
            raise UnknownName("field", rest, (), where=f"{spec.kind}/{spec.name}.{head}")
        require_field(value, rest)


def _parse(text: str, hint: Any) -> Any:
    """Typed text as JSON where it is JSON, as a list where a list is wanted, else as itself."""
    if typing.get_origin(hint) is tuple and not text.lstrip().startswith("["):
        return [_parse(item.strip(), None) for item in text.split(",")] if text.strip() else []
    try:
        return json.loads(text)
    except ValueError:  # not JSON, or a number longer than Python reads
        return None if text == "none" else text
