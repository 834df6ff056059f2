"""What a factory handed over in Python is made of, as text: its source, and the values it uses.

A stored run must not be taken for that of another model. So the text also holds what the source
names: values it closes over, plain values around it, and functions and classes beside it.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from types import CodeType, FunctionType, MethodType
from typing import Any

PLAIN = (bool, int, float, complex, str, bytes, type(None))


def told(factory: Any) -> str:
    """The source of a factory, and of what it uses."""
    return "\n".join(_told(factory, set()))


def _told(thing: Any, seen: set[int]) -> Iterator[str]:
    if id(thing) in seen:
        return
    seen.add(id(thing))
    try:
        yield inspect.getsource(thing)
    except (OSError, TypeError):
        yield repr(thing)
    for function in _functions(thing):
        yield repr((function.__defaults__, function.__kwdefaults__))
        home = function.__module__
        for name, value in sorted(_used(function).items()):
            if isinstance(value, (FunctionType, type)):
                if value.__module__ == home:
                    yield from _told(value, seen)
            else:
                yield f"{name} = {value!r}"


def _functions(thing: Any) -> list[FunctionType]:
    """A function itself, or the methods of a class or of an object that can be called."""
    if isinstance(thing, MethodType):
        thing = thing.__func__
    if isinstance(thing, FunctionType):
        return [thing]
    members = vars(thing if isinstance(thing, type) else type(thing)).values()
    return [member for member in members if isinstance(member, FunctionType)]


def _used(function: FunctionType) -> dict[str, Any]:
    """What a function closes over, and of the names around it plain values, functions, classes."""
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    closed = {name: cell.cell_contents for name, cell in cells if name != "__class__"}
    around = {
        name: function.__globals__[name]
        for name in _names(function.__code__)
        if name in function.__globals__
    }
    kept = (*PLAIN, FunctionType, type)
    return {n: v for n, v in around.items() if isinstance(v, kept)} | closed


def _names(code: CodeType) -> set[str]:
    """The names that code and the code inside it look up."""
    inner = [_names(each) for each in code.co_consts if isinstance(each, CodeType)]
    return {*code.co_names}.union(*inner)
