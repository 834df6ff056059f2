"""A model of one's own: a plain `torch.nn.Module`, read as one of three kinds.

    classes      module(inputs [batch, …])                     → scores [batch, output, class]
    sequence     module(source [batch, time], words [batch, step]) → scores [batch, step, class]
    next-token   module(tokens [batch, time])                  → scores [batch, time, token]

`classes` may leave out the output dimension when there is one output, or flatten it. For
`sequence`, source words are numbered from 1 (0 is padding) and the words so far from 1 (0 is the
start): at step t the module sees words 0 … t and scores the word at t. For `next-token` one
numbering holds both: 0 padding, then the source words, a separator, and the target words.

The module is made by a function or class that takes any of `input_shape`, `outputs`, `classes`,
`words` (source words, for sequences), `tokens` (all of them, for next-token) by name, or nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import inspect
import math
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor, nn
from torch.nn.parameter import is_lazy

from recombine.errors import UsageError
from recombine.models import own_source, own_weights
from recombine.models.model import Model, Reads
from recombine.models.modules import Modules
from recombine.models.stack import Stack

Kind = Literal["classes", "sequence", "next-token"]
Factory = Callable[..., Any]

OWN = "_recombine_own_"
"""Modules of files loaded by path are called this and a digest of the file."""
_GIVEN: dict[str, Factory] = {}
"""Factories handed over in Python, by the name their spec has."""


@dataclass(frozen=True)
class Own(Model):
    """A plain module of the user's."""

    name: ClassVar[str] = "own"
    version: ClassVar[int] = 2

    factory: str = ""
    """`path/to/file.py:function`, `package.module:function`, or a name given in Python."""
    source: str = ""
    """Digest of the file: a changed model is another model."""
    form: Kind = "classes"
    weights: str = ""
    """A file of trained weights that every seed starts from; none: drawn anew."""
    weights_digest: str = ""

    @classmethod
    def variants(cls) -> tuple[Model, ...]:
        return (cls("recombine.models.own:specimen"),)

    @property
    def reads(self) -> Reads:  # type: ignore[override]
        return "vectors" if self.form == "classes" else "sequences"

    def stack(
        self, seeds: Sequence[int], input_shape: tuple[int, ...], outputs: int, classes: int
    ) -> Stack:
        from recombine.models import own_stacks  # the stacks know this file's words

        told = known(input_shape, outputs, classes, sequences=self.form != "classes")
        modules = [self._module(seed, told) for seed in seeds]
        stack = own_stacks.make(self.form, modules, input_shape, outputs, classes, self.factory)
        _freeze(cast(Modules, stack.get_submodule("inner")), modules[0])
        return stack

    def probabilities(
        self, raw: Float[Tensor, "*lead output unit"]
    ) -> Float[Tensor, "*lead output class"]:
        return raw.softmax(-1)

    def _module(self, seed: int, told: dict[str, Any]) -> nn.Module:
        """The module of a seed, drawn as PyTorch draws, the global generator put back after."""
        made = load(self.factory)
        if isinstance(made, nn.Module):
            raise UsageError(
                f"{self.factory} is a module that is made already: give the function or class that "
                "makes it, so that every seed can have its own, or --weights to diagnose as it is"
            )
        module = build(made, told, self.factory, seed)
        if self.weights:
            own_weights.fill(module, self.weights)
        if any(map(is_lazy, module.parameters())):
            raise UsageError(
                f"{self.factory} has lazy layers, whose weights have no shape yet: give their "
                "sizes, which build can ask for (input_shape, outputs, classes)"
            )
        return module


def _freeze(stacked: Modules, one: nn.Module) -> None:
    """What a module does not train stays as it is; if that is all of it, there is no training."""
    still = [name for name, p in one.named_parameters() if not p.requires_grad]
    if len(still) < len(list(one.parameters())):
        for name in still:
            stacked.by_name()[name].requires_grad_(False)


def specimen(input_shape: tuple[int, ...], outputs: int, classes: int) -> nn.Module:
    """The smallest model of one's own: one dense layer."""
    return nn.Sequential(nn.Flatten(), nn.Linear(math.prod(input_shape), outputs * classes))


def known(
    input_shape: tuple[int, ...], outputs: int, classes: int, *, sequences: bool
) -> dict[str, Any]:
    """What a factory may ask for by name."""
    told: dict[str, Any] = {"input_shape": input_shape, "outputs": outputs, "classes": classes}
    if sequences:
        told |= {"words": input_shape[1], "tokens": input_shape[1] + classes + 2}
    return told


def build(made: Factory, told: dict[str, Any], name: str, seed: int) -> nn.Module:
    """The module of a seed, drawn as PyTorch draws, the global generators put back after."""
    words = _wanted(made, told, name)
    with _drawing(seed):
        try:
            module = made(**words)
        except (Exception, SystemExit) as error:  # a stranger's constructor
            raise UsageError(f"{name} failed: {told_of(error)}") from error
    if not isinstance(module, nn.Module):
        raise UsageError(f"{name} gave {type(module).__name__}, not a torch.nn.Module")
    return module


@contextlib.contextmanager
def _drawing(seed: int) -> Iterator[None]:
    """The global generators of PyTorch, NumPy and Python, seeded here and put back after."""
    python, numpy = random.getstate(), np.random.get_state()  # noqa: NPY002
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        np.random.seed(seed % 2**32)  # noqa: NPY002
        random.seed(seed)
        try:
            yield
        finally:
            random.setstate(python)
            np.random.set_state(numpy)  # noqa: NPY002


def told_of(error: BaseException) -> str:
    """An error of a stranger's code in one line."""
    return f"{type(error).__name__}: {' '.join(str(error).split())}"


def form_of(factory: Factory, *, sequences: bool, known: dict[str, Any]) -> Kind:
    """What kind of model a factory makes, by what its forward takes."""
    if not sequences:
        return "classes"
    name = getattr(factory, "__name__", "model")
    forward = build(factory, known, name, 0).forward
    needed = [
        p
        for p in inspect.signature(forward).parameters.values()
        if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
    ]
    if len(needed) not in (1, 2):
        raise UsageError(
            f"{name}.forward takes {len(needed)} arguments: a sequence model takes source and "
            "words so far, a next-token model takes tokens"
        )
    return "sequence" if len(needed) == 2 else "next-token"


def own(text: str, *, form: Kind, weights: str | None = None) -> Own:
    """The blueprint of a factory named on a command line, with the digests that make its key."""
    load(text)
    path = Path(text.rpartition(":")[0])
    source = path.read_bytes() if path.is_file() else text.encode()
    digest = own_weights.digest(weights) if weights else ""
    return Own(text, hashlib.sha256(source).hexdigest()[:16], form, weights or "", digest)


def given(factory: Factory, *, form: Kind, weights: str | None = None) -> Own:
    """The blueprint of a factory handed over in Python; it lives as long as this process."""
    digest = hashlib.sha256(own_source.told(factory).encode()).hexdigest()[:16]
    name = f"{getattr(factory, '__qualname__', type(factory).__name__)}@{digest}"
    _GIVEN[name] = factory
    trained = own_weights.digest(weights) if weights else ""
    return Own(name, digest, form, weights or "", trained)


def only_here(part: object) -> bool:
    """Whether a part of a spec is known to this process alone, and cannot be sent to another."""
    given_here = isinstance(part, Own) and part.factory in _GIVEN
    return given_here or type(part).__module__.startswith(OWN)


def load(text: str) -> Any:
    """The factory that `file.py:name` or `package.module:name` stands for."""
    if text in _GIVEN:
        return _GIVEN[text]
    where, colon, name = text.rpartition(":")
    if not colon or not name:
        raise UsageError(f"{text}: expected path/to/file.py:function or package.module:function")
    module = _load_file(Path(where)) if where.endswith(".py") else _load_module(where, text)
    if not hasattr(module, name):
        public = [key for key, value in vars(module).items() if callable(value) and key[0] != "_"]
        raise UsageError(f"{where} has no {name}: it has {', '.join(public) or 'nothing to call'}")
    return getattr(module, name)


def _load_file(path: Path) -> Any:
    if not path.is_file():
        raise UsageError(f"{path}: there is no such file")
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:16]
    name = f"{OWN}{digest}"
    if name in sys.modules:
        return sys.modules[name]
    found = importlib.util.spec_from_file_location(name, path)
    assert found is not None and found.loader is not None
    module = importlib.util.module_from_spec(found)
    sys.modules[name] = module
    try:
        found.loader.exec_module(module)
    except (Exception, SystemExit) as error:  # a stranger's file may fail in any way
        del sys.modules[name]
        raise UsageError(f"{path} cannot be loaded: {told_of(error)}") from error
    return module


def _load_module(name: str, text: str) -> Any:
    try:
        return importlib.import_module(name)
    except (Exception, SystemExit) as error:
        raise UsageError(f"{text} cannot be imported: {told_of(error)}") from error


def _wanted(made: Factory, known: dict[str, Any], name: str) -> dict[str, Any]:
    """The arguments a factory asks for by name."""
    wanted = {}
    for parameter in inspect.signature(made).parameters.values():
        if parameter.name in known:
            wanted[parameter.name] = known[parameter.name]
        elif parameter.default is parameter.empty and parameter.kind not in (
            parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD,
        ):  # fmt: skip
            raise UsageError(
                f"{name} takes '{parameter.name}', which recombine does not know: give it a "
                f"default, or ask for {', '.join(known)}"
            )
    return wanted
