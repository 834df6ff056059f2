"""Component substitution: a part of one trained network put into another of the same shape.

A component is all parameters whose names match any of its patterns (`encoder.*`). The host gets the
donor's values for them; afterwards the component is frozen and the rest is trained on, so that the
question is not whether the parts fit at once, but whether the host can learn to work with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from fnmatch import fnmatchcase

import numpy as np
import torch

from recombine.errors import BadValue, UnknownName
from recombine.models.stack import Stack

Parameters = Mapping[str, np.ndarray]
"""The parameters of one network by name."""


def component(names: Iterable[str], patterns: Sequence[str]) -> tuple[str, ...]:
    """The names that match a pattern, in order; a pattern that matches nothing is refused."""
    known = tuple(names)
    for pattern in patterns:
        if not any(fnmatchcase(name, pattern) for name in known):
            raise UnknownName("component", pattern, known)
    return tuple(name for name in known if any(fnmatchcase(name, p) for p in patterns))


def substitute(host: Parameters, donor: Parameters, patterns: Sequence[str]) -> Parameters:
    """The host with the donor's component; neither is changed."""
    result = {name: value.copy() for name, value in host.items()}
    for name in component(host, patterns):
        if name not in donor or donor[name].shape != host[name].shape:
            shape = list(donor[name].shape) if name in donor else "nothing"
            raise BadValue(
                f"the donor's {name}", shape, f"the host's shape, {list(host[name].shape)}"
            )
        result[name] = donor[name].copy()
    return result


@torch.no_grad()
def put(stack: Stack, lanes: Sequence[Parameters]) -> None:
    """Give each lane of a stack the parameters of a network."""
    named = dict(stack.named_parameters())
    for lane, parameters in enumerate(lanes):
        if missing := sorted(named.keys() - parameters.keys()):
            raise BadValue("parameters of a network", missing[0], "a value for every parameter")
        for name, parameter in named.items():
            parameter[lane].copy_(torch.from_numpy(np.asarray(parameters[name])))


def take(stack: Stack, lane: int) -> Parameters:
    """The parameters of one lane, copied."""
    return {
        name: value[lane].detach().cpu().numpy().copy() for name, value in stack.named_parameters()
    }
