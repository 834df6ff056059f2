"""The splits of SCAN that a rule makes, each the same multiset of lines as the official file.

- `simple`: a random fifth is held out (our own draw; the official one needs the official files).
- `length`: answers of up to 22 actions are trained on, longer ones (24 and more) are held out.
- `addprim_jump`, `addprim_turn_left`: a primitive is trained on alone only, so often that it makes
  a tenth of the training lines (1,467 and 2,189 times), and is held out in every other command.
- `template_right`, `…_opposite_right`, `…_around_right`: a manner is held out with all four acting
  verbs; `template_jump_around_right`: with `jump` only. In every one of them, as in the official
  files, commands that turn in that manner (`turn around right`) are in neither part.
- `filler_num0` … `filler_num3`: `jump around right` is held out while so many other verbs show
  `around right` in training (look; look, walk; look, walk, run).

Reference: Lake & Baroni (2018); templates and fillers: Loula, Baroni & Lake (2018).
"""

from __future__ import annotations

import functools
from collections.abc import Callable

import numpy as np
from jaxtyping import Bool, Int

from recombine.errors import UnknownName
from recombine.seeds import stream
from recombine.tasks.scan_grammar import MANNERS, VERBS, commands

Rows = Int[np.ndarray, " _"]
"""Lines of a split as rows of the table of commands; a row may stand there more than once."""
Split = tuple[Rows, Rows]

SHARE = 5
"""One in so many commands is held out in `simple`."""
LONGEST_TRAINED = 22
FILLERS = ("look", "walk", "run")
"""The verbs that join `around right` one by one."""


@functools.lru_cache(maxsize=32)
def rule_split(name: str, seed: int) -> Split:
    """The train and test rows of a split that is made by rule; `seed` is for `simple` alone."""
    if name != "simple" and name not in RULES:
        raise UnknownName("split", name, ("simple", *RULES), where="tasks/scan")
    rows = _simple(seed) if name == "simple" else RULES[name]()
    for each in rows:
        each.setflags(write=False)
    return rows


def _simple(seed: int) -> Split:
    order = stream(seed, "scan", "simple").permutation(len(commands().z))
    held = len(order) // SHARE
    return np.sort(order[held:]), np.sort(order[:held])


def says(verb: str, manner: str) -> Bool[np.ndarray, " command"]:
    """Which commands have a phrase with that verb in that manner."""
    z, v, m = commands().z, VERBS.index(verb), MANNERS.index(manner)
    first = (z[:, 1] == v) & (z[:, 2] == m)
    second = (z[:, 4] == v + 1) & (z[:, 5] == m)
    return np.asarray(first | second)


def _length() -> Split:
    longer = commands().lengths - 1 > LONGEST_TRAINED
    return np.flatnonzero(~longer), np.flatnonzero(longer)


def _alone(primitive: str) -> Callable[[], Split]:
    """A primitive is shown by itself, often; `turn left` counts as one."""

    def split() -> Split:
        verb, _, side = primitive.partition(" ")
        if side:
            touched = says(verb, side)
        else:
            touched = np.any([says(verb, manner) for manner in MANNERS], axis=0)
        shown = commands().by_text[primitive]
        others = np.flatnonzero(~touched)
        # A tenth of all lines: as many as a ninth of the others, rounded.
        repeats = np.full(round(len(others) / 9), shown)
        held = np.flatnonzero(touched)
        return np.concatenate([others, repeats]), held[held != shown]

    return split


def _template(manner: str, trained: tuple[str, ...], held: tuple[str, ...]) -> Callable[[], Split]:
    """A manner is trained on with some verbs, tested with others, never seen with the rest."""

    def split() -> Split:
        hidden = [says(verb, manner) for verb in VERBS if verb not in trained]
        tested = np.any([says(verb, manner) for verb in held], axis=0)
        turns = says("turn", manner)
        return np.flatnonzero(~np.any(hidden, axis=0)), np.flatnonzero(tested & ~turns)

    return split


RULES: dict[str, Callable[[], Split]] = {
    "length": _length,
    "addprim_jump": _alone("jump"),
    "addprim_turn_left": _alone("turn left"),
    "template_right": _template("right", (), VERBS[:4]),
    "template_opposite_right": _template("opposite right", (), VERBS[:4]),
    "template_around_right": _template("around right", (), VERBS[:4]),
    "template_jump_around_right": _template("around right", FILLERS, ("jump",)),
    **{
        f"filler_num{n}": _template("around right", FILLERS[:n], ("jump",))
        for n in range(len(FILLERS) + 1)
    },
}
"""Splits without chance."""
